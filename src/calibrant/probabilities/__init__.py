"""Probabilities of one event or of classes: binned errors, reliability, cumulative curves and their tests."""
