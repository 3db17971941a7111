"""Measurements that return a number or a record of numbers."""
