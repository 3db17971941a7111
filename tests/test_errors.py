"""What a message shows of a value: a line at most, and never a failure of its own; and what it says of names."""

import numpy as np
import pytest

from calibrant.errors import did_you_mean, listing, shown


class Silent:
    def __repr__(self):
        raise ZeroDivisionError


class Broken:
    @property
    def item(self):
        raise OSError

    def __repr__(self):
        return "Broken()"


def endless():
    found = []
    for _ in range(100_000):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (np.float32(0.5), "0.5"),
        (np.array(3), "3"),
        ("a  b", "'a  b'"),
        (np.array([[1, 2], [3, 4]]), "array([[1, 2], [3, 4]])"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16..."),
        (10**4000, "1" + "0" * 56 + "..."),
        (10**5000, "a whole number of about 5,001 digits"),
        (-(10**5000) - 7, "a whole number of about 5,001 digits"),
        (np.array(10**5000, dtype=object), "a whole number of about 5,001 digits"),
        ([1, 10**5000], "a list that cannot be shown"),
        (Silent(), "a Silent that cannot be shown"),
        (Broken(), "a Broken that cannot be shown"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shown(value, text):
    assert shown(value) == text


def test_a_list_within_a_list_without_end():
    assert shown(endless()) == "a list that cannot be shown"


def test_a_refusal_of_such_a_number(refusal):
    from calibrant import ece

    assert "got a whole number of about 5,001 digits" in refusal(ece, [0, 1], [0.2, 0.7], bins=-(10**5000))


@pytest.mark.parametrize(
    ("word", "answer"),
    [("scroe", "Did you mean 'score'?"), ("SCORE", "Did you mean 'score'?"), ("xyz", ""), ("", "")],
)
def test_did_you_mean(word, answer):
    assert did_you_mean(word, ["left", "score", "segment"]) == answer


def test_did_you_mean_an_option():
    assert did_you_mean("bin", ["norm", "bins"], spelled="{}=".format) == "Did you mean bins=?"


def test_listing():
    assert listing(["a", "b"]) == "'a', 'b'"
    assert listing([f"c{i}" for i in range(1500)], most=2) == "'c0', 'c1' and 1,498 more"
