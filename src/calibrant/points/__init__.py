"""Two sets of points: distances between them, tests and a comparison."""
