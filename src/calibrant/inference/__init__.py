"""Tests: a statistic, its law under calibration, and what follows."""
