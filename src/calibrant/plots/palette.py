"""Colours and strokes of all figures."""

INK = "#1f2933"
OBSERVED = "#0b62a4"
BAND = "#9aa5b1"
REFERENCE = "#616e7c"
COUNTS = "#b9d6ea"
