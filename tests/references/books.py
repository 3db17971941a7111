"""Files of reference values, each read once."""

import functools
import json
from pathlib import Path

import numpy as np


@functools.cache
def book(name):
    """Return all that a file holds."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text("utf-8"))


@functools.cache
def by_id(name):
    """Return the values or cases of a file by their id."""
    found = book(name)
    return {case["id"]: case for case in found.get("cases") or found["values"]}


@functools.cache
def arrays(name):
    """Return the arrays of a file by name."""
    with np.load(Path(__file__).with_name(f"{name}.npz")) as stored:
        found = dict(stored)
    for array in found.values():
        array.flags.writeable = False
    return found
