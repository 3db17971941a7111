"""Simulation-based calibration from the model itself: simulate, fit, keep, judge."""
