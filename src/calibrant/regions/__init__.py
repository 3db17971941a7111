"""Prediction intervals, sets and quantiles: coverage, width and their tests."""
