"""Ranks and PITs of outcomes under draws and predictive distributions: curves, tests and explanations."""
