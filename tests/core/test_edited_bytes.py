"""Bytes whose checksum is right and whose content is not: refused as what they are, never a raw error."""

import numpy as np
import pytest

from calibrant import Intervals, MvNormal, Normal, Samples, ece, summarize
from calibrant.core import summary as codec
from calibrant.errors import SummaryError
from calibrant.kernels import Exponential, Gaussian
from calibrant.summaries import Summary

RNG = np.random.default_rng(0)
n = 7
P1 = RNG.random(n)
Y1 = RNG.integers(0, 2, n)
P3 = RNG.dirichlet(np.ones(3), n)
Y3 = RNG.integers(0, 3, n)
REAL = RNG.normal(size=n)
W = RNG.uniform(0.5, 3, n)
KERNEL = Exponential(1.0) * Gaussian(1.0)
SUMMARIES = {
    "KeptRows of classes": summarize("skce", Y3, P3, weights=W),
    "KeptRows of a distribution": summarize("skce", REAL, Normal(REAL, 1.0), weights=W),
    "KeptRows of vectors": summarize("skce", np.ones((n, 2)), MvNormal(np.zeros((n, 2)), np.eye(2))),
    "KeptRows of draws": summarize("skce", REAL, Samples(RNG.normal(size=(n, 4)))),
    "KeptRows of intervals": summarize("skce", REAL, Intervals(REAL - 1, REAL + 1, 0.9), weights=W),
    "Ordered": summarize("skce", Y1, P1, weights=W),
    "SimplexCells": summarize(ece, Y3, P3, notion="canonical"),
    "Blocks": summarize("skce", REAL, Normal(REAL, 1.0), kernel=KERNEL, blocksize=2),
}


def edited(summary, drop="", **changes):
    """Return the bytes of a summary with some values changed, and a checksum that matches them."""
    name, values = codec.decode(summary.to_bytes())
    if "left" in values:
        values["left"] = summary.left
    return codec.encode(name, {k: v for k, v in {**values, **changes}.items() if k != drop})


def arrays(summary):
    return {k: v for k, v in codec.decode(summary.to_bytes())[1].items() if isinstance(v, np.ndarray)}


FIELDS = [(name, key) for name, summary in SUMMARIES.items() for key in codec.decode(summary.to_bytes())[1]]
ARRAYS = [(name, key) for name, summary in SUMMARIES.items() for key in arrays(summary)]


@pytest.mark.parametrize("name", SUMMARIES)
def test_what_is_not_edited_is_read(name):
    assert Summary.from_bytes(edited(SUMMARIES[name])) == SUMMARIES[name]


@pytest.mark.parametrize(("name", "key"), FIELDS)
def test_a_field_is_missing(name, key, refusal):
    message = refusal(Summary.from_bytes, edited(SUMMARIES[name], drop=key), error=SummaryError)
    assert f"do not contain a whole {name.split()[0]}" in message


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_field_too_many(name, refusal):
    message = refusal(Summary.from_bytes, edited(SUMMARIES[name], more=1), error=SummaryError)
    assert f"do not contain a whole {name.split()[0]}" in message


@pytest.mark.parametrize(
    "bad",
    [None, "text", 3, -1.5, [1, 2], np.zeros(2), np.zeros((2, 2, 2, 2)), np.zeros(0)],
    ids=["None", "text", "3", "-1.5", "list", "two", "four axes", "empty"],
)
@pytest.mark.parametrize(("name", "key"), ARRAYS)
def test_another_thing_in_place_of_an_array(name, key, bad, refusal):
    refusal(Summary.from_bytes, edited(SUMMARIES[name], **{key: bad}), error=SummaryError)


@pytest.mark.parametrize(("name", "key"), ARRAYS)
def test_an_array_of_another_length(name, key, refusal):
    array = arrays(SUMMARIES[name])[key]
    for other in (array[:-1], np.concatenate([array, array[:1]])):
        if key == "levels" or array.ndim:
            refusal(Summary.from_bytes, edited(SUMMARIES[name], **{key: other}), error=SummaryError)


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("kernel", "no kernel"),
        ("kernel", None),
        ("kernel", '["Exponential"]'),
        ("m", "two"),
        ("m", None),
        ("m", -2),
        ("m", 2.5),
        ("unbiased", "yes"),
        ("blocks", None),
        ("blocks", -3),
        ("mean", "large"),
        ("mean", float("nan")),
        ("spread", None),
        ("pairs", [1, 2]),
        ("weight", None),
        ("variance", "v"),
        ("heaviest", None),
        ("kind", 3),
        ("draws", "many"),
        ("left", "rows"),
        ("left", [3]),
        ("left", None),
    ],
)
def test_blocks(key, bad, refusal):
    refusal(Summary.from_bytes, edited(SUMMARIES["Blocks"], **{key: bad}), error=SummaryError)


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ('["Cauchy"]', np.ones((n, 2))),
        ("[]", np.ones((n, 2))),
        ("{", np.ones((n, 2))),
        (3, np.ones((n, 2))),
        ("", np.ones((n, 2))),
        ('["Normal"]', np.ones((n, 1))),
        ('["Normal"]', np.zeros((n, 2))),
        ('["Normal"]', np.full((n, 2), np.nan)),
        ('["MvNormal", 3]', np.ones((n, 2))),
        ('["Samples", [2, 3], false]', np.ones((n, 2))),
        ('["Mixture", 1]', np.ones((n, 2))),
    ],
)
def test_distributions(kind, columns, refusal):
    data = codec.encode("KeptRows", {"kind": kind, "columns": columns, "y": REAL, "w": np.ones(n), "dtype": ""})
    refusal(Summary.from_bytes, data, error=SummaryError)


def test_labels_that_are_no_classes(refusal):
    for bad in (3, -1):
        y = np.array([bad, *Y3[1:]])
        message = refusal(Summary.from_bytes, edited(SUMMARIES["KeptRows of classes"], y=y), error=SummaryError)
        assert "KeptRows" in message
