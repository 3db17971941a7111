"""Every verb that measures, what it reads, and the one way from data or a summary to its value."""

from calibrant.catalogue.entries import ENTRIES, LOOKALIKES, SHARED, Entry, Shown, Verb, find, is_verb
from calibrant.catalogue.means import RowScores, mean_metric, moments_of
from calibrant.catalogue.reading import KINDS, AnyRows, Rows
from calibrant.catalogue.summarizing import summarize
from calibrant.catalogue.verbs import calibration_test, curve, metric, ordered, verb

__all__ = [
    "ENTRIES",
    "KINDS",
    "LOOKALIKES",
    "SHARED",
    "AnyRows",
    "Entry",
    "RowScores",
    "Rows",
    "Shown",
    "Verb",
    "calibration_test",
    "curve",
    "find",
    "is_verb",
    "mean_metric",
    "metric",
    "moments_of",
    "ordered",
    "summarize",
    "verb",
]
