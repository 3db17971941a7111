"""The one boundary: whatever a user holds comes in, typed and checked predictions come out."""

from calibrant.inputs.options import (
    check_bins,
    check_choice,
    check_count,
    check_level,
    check_positive,
    generator,
)
from calibrant.inputs.probabilities import Binary, Classes, read_binary, read_probabilities

__all__ = [
    "Binary",
    "Classes",
    "check_bins",
    "check_choice",
    "check_count",
    "check_level",
    "check_positive",
    "generator",
    "read_binary",
    "read_probabilities",
]
