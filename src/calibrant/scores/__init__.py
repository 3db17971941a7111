"""Proper scores of every kind of prediction, and their decomposition."""
