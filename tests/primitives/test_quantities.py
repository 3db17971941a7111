"""Quantities of one's own: how they are called, and what they must return."""

from functools import partial

import numpy as np
import pytest

from calibrant.primitives.quantities import read_quantities, takes_covariates, values_of

Z = np.random.default_rng(0).normal(size=(4, 6, 2))


def norm(z):
    return np.sqrt((z**2).sum(axis=2))


class Scaled:
    def __call__(self, z, x):
        return z[:, :, 0] * x[:, None]


class TestReading:
    def test_names(self):
        assert read_quantities(norm) == {"norm": norm}
        assert list(read_quantities(lambda z: z)) == [""]
        assert list(read_quantities(Scaled())) == [""]
        assert list(read_quantities({"b": norm, "a": norm})) == ["b", "a"]

    @pytest.mark.parametrize("given", [None, 3, [norm], {}, "norm"])
    def test_others_are_refused(self, refusal, given):
        assert "quantity must be a function" in refusal(read_quantities, given)

    @pytest.mark.parametrize(
        ("f", "takes"),
        [
            (norm, False),
            (lambda z, x: z, True),
            (lambda z, x=None: z, False),
            (lambda z, *, axis=2: z, False),
            (lambda *given: given[0], False),
            (partial(lambda z, x, power: z, power=2), True),
            (partial(lambda a, z: z, 1), False),
            (Scaled(), True),
            (np.abs, False),
            (np.sum, False),
            (max, False),
        ],
    )
    def test_a_second_argument_without_default_is_the_covariates(self, f, takes):
        assert takes_covariates(f) == takes


class TestValues:
    def test_members_are_given_once_and_cannot_be_written_to(self):
        seen = []

        def first(z):
            seen.append((z.shape, z.flags.writeable))
            return z[:, :, 0]

        np.testing.assert_array_equal(values_of("first", first, Z.copy(), None), Z[:, :, 0])
        assert seen == [((4, 6, 2), False)] * 2

    def test_covariates(self):
        x = np.arange(4.0)
        np.testing.assert_array_equal(values_of("", Scaled(), Z.copy(), x), Z[:, :, 0] * x[:, None])

    def test_what_a_function_knows_of_all_rows_may_be_used(self):
        centres = Z.mean(axis=1)
        found = values_of("", lambda z: ((z - centres[:, None]) ** 2).sum(axis=2), Z.copy(), None)
        assert found.shape == (4, 6)

    def test_rows_of_equal_members_show_nothing(self, refusal):
        z = np.ones((3, 4))
        z[2] = [1.0, 2.0, 3.0, 4.0]
        message = refusal(values_of, "gap", lambda z: z - z[:, :1], z, None)
        assert message.startswith("quantity 'gap' must treat")
        assert "row 2" in message

    @pytest.mark.parametrize(
        ("kind", "becomes"), [("float16", "float32"), ("longdouble", "float64"), (">f4", "float32"), ("int8", "int8")]
    )
    def test_types_that_compiled_code_knows(self, kind, becomes):
        assert values_of("", lambda z: z[:, :, 0].astype(kind), Z.copy(), None).dtype == np.dtype(becomes)

    @pytest.mark.parametrize(
        ("f", "words"),
        [
            (lambda z: z.sum(), "shape (n, M + 1) = (4, 6), from z of shape (4, 6, 2); got shape ()"),
            (lambda z: z[:, 1:, 0], "got shape (4, 5)"),
            (lambda z: np.where(z[:, :, 0] == Z[2, 0, 0], np.nan, 0.0), "it is nan at the outcome of row 2"),
            (lambda z: np.where(z[:, :, 0] == Z[1, 4, 0], np.nan, 0.0), "it is nan at draw 3 of row 1"),
            (lambda z: z[:, :, 0].astype(str), "real numbers; got values of type <U32"),
        ],
    )
    def test_refusals(self, refusal, f, words):
        assert words in refusal(values_of, "q", f, Z.copy(), None)
