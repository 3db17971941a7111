"""The remedy: maps that recalibrate predictions of every kind, and the proof out of sample that they help."""
