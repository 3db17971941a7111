"""The colours of all figures. A report replaces each by the variable of the same name in its style sheet."""

INK = "#1f2933"
OBSERVED = "#0b62a4"
BAND = "#9aa5b1"
EDGE = "#7b8794"
REFERENCE = "#616e7c"
COUNTS = "#b9d6ea"
GRID = "#e4e7eb"
SECOND = "#b3470f"
THIRD = "#1f7a4d"
FOURTH = "#7b3fa0"

NAMES = {colour: name.lower() for name, colour in list(globals().items()) if name.isupper()}
