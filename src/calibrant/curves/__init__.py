"""Measurements that return a curve."""
