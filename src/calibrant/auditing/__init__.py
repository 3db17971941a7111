"""The main job: everything that applies, at once, with a verdict in words."""
