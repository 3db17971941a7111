"""The size of blocks as an option: each rule and what its message says."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.inputs.blocksize import read_blocksize


@pytest.mark.parametrize("m", [2, 7, 10, np.int32(7), np.uint8(3)])
def test_whole_numbers(m):
    found = read_blocksize(m, 10, unbiased=True)
    assert found == m
    assert type(found) is int


def test_a_function_gets_n_once():
    asked = []

    def root(n):
        asked.append(n)
        return max(2, int(n**0.5))

    assert read_blocksize(root, 100, unbiased=True) == 10
    assert asked == [100]
    assert read_blocksize(np.int64, 5, unbiased=True) == 5


def test_least(refusal):
    assert read_blocksize(1, 10, unbiased=False) == 1
    assert refusal(read_blocksize, 1, 10, unbiased=True) == (
        "blocksize must be at least 2 for the unbiased estimator (unbiased=True); got 1"
    )
    assert refusal(read_blocksize, 0, 10, unbiased=False) == (
        "blocksize must be at least 1 for the biased estimator (unbiased=False); got 0"
    )
    assert "got -3" in refusal(read_blocksize, -3, 10, unbiased=True)


@pytest.mark.parametrize("m", [10.0, True, "2", np.float64(4), np.bool_(True), [2]])
def test_no_whole_number(m, refusal):
    message = refusal(read_blocksize, m, 100, unbiased=True)
    assert "blocksize must be a whole number or a function of n that returns one; got" in message
    message = refusal(read_blocksize, lambda n: m, 100, unbiased=True)
    assert "blocksize(100) returned " in message
    assert "Wrap it in int()" in message


def test_a_square_root_that_is_no_whole_number(refusal):
    assert "blocksize(100) returned 10.0" in refusal(read_blocksize, lambda n: n**0.5, 100, unbiased=True)


@pytest.mark.parametrize("function", [lambda: 3, lambda n, m: 3, lambda *, n: n])
def test_a_function_of_something_else(function, refusal):
    message = refusal(read_blocksize, function, 100, unbiased=True)
    assert "blocksize must be a function of one number, the number of rows; " in message
    assert "argument" in message
    assert "a function of one number" in refusal(cb.skce, [0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], blocksize=function)


def test_a_batch_may_be_smaller_than_a_block():
    assert read_blocksize(11, 10, unbiased=True) == 11


@pytest.mark.parametrize(
    ("m", "words"),
    [
        (1, "at least 2 for the unbiased"),
        (4.0, "Wrap it in int()"),
        (9, "blocksize 9 for 4 rows"),
        (True, "whole number"),
        (10**5000, "at most 1,000,000,000; got a whole number of about 5,001 digits"),
        (-(10**5000), "got a whole number of about 5,001 digits"),
    ],
    ids=["one", "decimal", "nine", "True", "huge", "tiny"],
)
@pytest.mark.parametrize("verb", [cb.skce, lambda *rows, **o: cb.skce_test(*rows, method="bound", **o)])
def test_verbs_refuse_them(m, words, verb, refusal):
    assert words in refusal(verb, [0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], blocksize=m)
