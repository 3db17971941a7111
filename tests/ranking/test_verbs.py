"""Verbs that return ranks: how they are made, found and called."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from calibrant import Normal, Samples, ece, summarize
from calibrant.core.catalogue import RANKINGS, find, public
from calibrant.ranking.counting import Ranked
from calibrant.ranking.density_ranks import energy_ranks
from calibrant.ranking.distance_ranks import tarp_ranks
from calibrant.ranking.effects import enter_ranks
from calibrant.ranking.quantities import ranks
from calibrant.ranking.summary import Ranks
from calibrant.ranking.vector_ranks import joint_ranks

Y, SAMPLES = [0.5, 2.5, 9.0], Samples([[1.0, 2.0, 3.0]] * 3)
VERBS = {"ranks": ranks, "energy_ranks": energy_ranks, "joint_ranks": joint_ranks, "tarp_ranks": tarp_ranks}


@dataclass(frozen=True)
class ConstantOptions:
    place: int
    rng: Any


@pytest.fixture
def constant_ranks():
    @public
    def constant_ranks(y, prediction=None, *, place, rng=None):
        """Rank all rows alike."""
        return entry(y, prediction, ConstantOptions(place, rng))

    def ranked(rows, options):
        return Ranked(np.full(rows.n, options.place), rows.distribution.M, ("",), np.array([0]))

    instead = {"distributions": "Draw from it"}
    entry = enter_ranks(constant_ranks, ConstantOptions, ranked, predictions=("samples",), instead=instead)
    yield constant_ranks
    del RANKINGS["constant_ranks"]


@pytest.mark.parametrize("name", VERBS)
class TestEveryVerb:
    def test_is_known(self, name):
        assert RANKINGS[name].verb is VERBS[name]
        assert find(name, ranks=True) is find(VERBS[name], ranks=True) is RANKINGS[name]
        assert VERBS[name].__name__ == name

    def test_signature(self, name):
        y, prediction, *options = inspect.signature(VERBS[name]).parameters.values()
        assert (y.name, prediction.name) == ("y", "prediction")
        assert all(option.kind is inspect.Parameter.KEYWORD_ONLY for option in options)
        assert options[-1].name == "rng"
        assert options[-1].default is None

    def test_docstring_tells_the_order_of_axes(self, name):
        assert "(n, M, D)" in VERBS[name].__doc__ or "(n, M)" in VERBS[name].__doc__
        for option in list(inspect.signature(VERBS[name]).parameters)[2:]:
            assert f"\n    {option}" in VERBS[name].__doc__

    def test_refusals(self, name, refusal):
        message = refusal(VERBS[name], Y, SAMPLES, seed=3)
        assert message.startswith(f"{name} has no option seed. ")
        assert message.endswith("rng")
        assert f"Did you mean {name}(y, prediction, rng=3)?" in refusal(VERBS[name], Y, SAMPLES, rngs=3)
        for option in ("weights", "sample_weight"):
            message = refusal(VERBS[name], Y, SAMPLES, **{option: [1, 1, 1]})
            assert f"summarize({name}, y, prediction, weights=...)" in message
        assert "no longer contains the single rows" in refusal(VERBS[name], Ranks.of([0], M=3))


def test_functions_of_the_same_name_are_others(refusal):
    def ranks(y):
        return y

    for other in (ranks, "rank", None, 3, []):
        assert "expected a verb of calibrant" in refusal(find, other, ranks=True)
    assert "expected a verb of calibrant" in refusal(find, "ranks")
    assert find(ece, ranks=True).name == "ece"


def test_a_verb_of_ones_own(constant_ranks, refusal):
    assert constant_ranks(Y, SAMPLES, place=2).tolist() == [2, 2, 2]
    assert "needs the option place=" in refusal(summarize, constant_ranks, Y, SAMPLES)
    assert summarize(constant_ranks, Y, SAMPLES, place=1) == Ranks.of([1, 1, 1], M=3)
    assert refusal(constant_ranks, [0.0], Normal(0.0, 1.0), place=1).endswith("got Normal. Draw from it")


class TestSummaries:
    def test_counts(self):
        for given in (ranks, "ranks"):
            found = summarize(given, Y, SAMPLES)
            assert isinstance(found, Ranks)
            assert found == Ranks.of([0, 2, 3], M=3)
        parts = [summarize(ranks, Y[i : i + 1], SAMPLES.take(slice(i, i + 1))) for i in range(3)]
        assert sum(parts) == found

    def test_weights_and_rows_of_weight_zero(self):
        found = summarize(ranks, Y, SAMPLES, weights=[1.0, 2.0, 0.5])
        assert found.weight[:, 0].tolist() == [1.0, 0.0, 2.0, 0.5]
        assert found.weight2[:, 0].tolist() == [1.0, 0.0, 4.0, 0.25]
        tied = Samples([[1.0, 1.0, 2.0]] * 40)
        y = np.ones(40)
        y[::2] = np.nan
        w = np.tile([0.0, 3.0], 20)
        found = summarize(ranks, y, tied, weights=w, rng=0)
        assert found == summarize(ranks, y[1::2], tied.take(slice(1, None, 2)), weights=w[1::2], rng=0)
        assert found.tied.tolist() == [20]

    def test_misspelt_options(self, refusal):
        assert "ranks has no option bins" in refusal(summarize, ranks, "no outcomes", SAMPLES, bins=3)
