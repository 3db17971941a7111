"""Kernel calibration errors of every kind of prediction, and their tests."""
