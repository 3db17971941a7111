"""What all summaries share: merging, comparing, being frozen."""

import io
import json
import pickle
import zlib
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import Intervals, Normal, summaries, summarize
from calibrant.conditional.kept import KeptCovariates
from calibrant.core import summary as codec
from calibrant.errors import SummaryError
from calibrant.inputs.groups import read_groups, read_row_labels
from calibrant.inputs.probabilities import read_binary, read_probabilities
from calibrant.inputs.rows import IntervalRows, read_outcomes
from calibrant.kernel_errors.fitted import Randomness
from calibrant.kernels import Exponential, Gaussian
from calibrant.points import PointBlocks, PointMoments
from calibrant.points.inputs import PointSets
from calibrant.ranking.summary import ExchangedCounts
from calibrant.regions.christoffersen import Hits
from calibrant.regions.coverage import IntervalMoments
from calibrant.summaries import Grid, Moments, Ordered, PerLabel, Summary

scores = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0]))
rows = st.lists(st.tuples(st.integers(0, 1), scores, st.floats(0.1, 10)), min_size=1, max_size=15)


def binary(y, p, w):
    return read_binary(y, p, verb="a test", weights=w)


def two_classes(y, p, w):
    p = np.asarray(p)
    return read_probabilities(y, np.stack([1 - p, p], axis=1), weights=w)


def interval_rows(y, p, w):
    """Return intervals from 0 to p and to p/2: they cover 0 always, and 1 if p is 1."""
    upper = np.stack([np.asarray(p) / 2, p], axis=1)
    return IntervalRows.read(y, Intervals(np.zeros_like(upper), upper, [0.5, 0.9]), weights=w)


def sides(p):
    return ["low" if score < 0.5 else "high" for score in p]


def moments(y, p, w):
    p = np.asarray(p)
    return Moments.of({"brier": (np.asarray(y) - p) ** 2, "p": p}, np.asarray(w, dtype=float))


def labels_seen(y, p, w):
    y = np.asarray(y)
    return summaries.LabelsSeen.of(np.where(y == 1, "yes", np.where(np.asarray(p) < 0.5, "no", "never")), y)


def group_cells(y, p, w):
    grouping = read_groups(np.asarray(p) < 0.5, len(p), intersections=1, keep=None)[0]
    return summaries.GroupCells.of(binary(y, p, w), grouping)


def blocks(y, p, w):
    """Return blocks of one row: others depend on how many rows are left over, see test_blocks.py."""
    rows = read_outcomes(y, Normal(p, 1.0), weights=w)
    chance = Randomness(None, np.random.default_rng(0))
    return summaries.Blocks.of(rows, Exponential(1.0, "wasserstein") * Gaussian(1.0), 1, False, chance)


def ranks(y, p, w):
    found = np.stack([np.asarray(y), (np.asarray(p) * 3).astype(int)], axis=1)
    return summaries.Ranks.of(found, 3, names=["a", "b"], weights=w)


def skill_rows(y, p, w):
    given = Normal(np.asarray(y, float), 1.0)
    return summarize("skill", p, given, weights=w, climatology=Normal(np.asarray(w, float), 2.0))


def exchanged_ranks(y, p, w):
    """Return tables without a trace of their random stream, which would not merge with themselves."""
    own = summaries.Ranks.of(np.asarray(y), 3)
    return replace(own, exchanged=(ExchangedCounts(np.stack([own.counts, own.counts[::-1]]), ()),))


def point_blocks(y, p, w):
    """Return points of one set that fill no block: others depend on what is left over, see test_point_blocks.py."""
    sets = PointSets(np.stack([y, p, w], axis=1).astype(float), np.zeros((0, 3)))
    return PointBlocks.of_sets(sets, Gaussian(1.0, "euclidean"), "block", 100)


MAKERS = {
    "moments": moments,
    "grid": lambda *rows: Grid.of(binary(*rows)),
    "ordered": lambda *rows: Ordered.of(binary(*rows)),
    "per label": lambda *rows: PerLabel.of(two_classes(*rows), "top-label", Grid.of),
    "label bins": lambda *rows: summaries.LabelBins.of(two_classes(*rows), "classwise", 7),
    "several": lambda *rows: summaries.Several.of({"grid": Grid.of(binary(*rows)), "moments": moments(*rows)}),
    "labels seen": labels_seen,
    "group cells": group_cells,
    "simplex cells": lambda *rows: summaries.SimplexCells.of(binary(*rows), 4),
    "kept rows": lambda *rows: summaries.KeptRows.of(binary(*rows)),
    "blocks": blocks,
    "hits": lambda y, p, w: Hits.of(
        interval_rows(y, p, w).covered[:, 0], 0.9, "Intervals", read_row_labels(sides(p), len(p))
    ),
    "hit table": lambda y, p, w: summaries.HitTable.of(interval_rows(y, p, w), read_row_labels(sides(p), len(p))),
    "sizes": lambda *rows: summaries.Sizes.of(interval_rows(*rows)),
    "interval moments": lambda *rows: IntervalMoments.of(interval_rows(*rows)),
    "ranks": ranks,
    "ranks by group": lambda y, p, w: summaries.Ranks.of(np.asarray(y), 3, groups=sides(p), weights=w),
    "ranks with covariates": lambda y, p, w: summaries.Ranks.of(np.asarray(y), 3, covariates=np.stack([p, w], axis=1)),
    "rank of each row": lambda y, p, w: KeptCovariates.of_ranks(np.asarray(y), 3, np.stack([p, w], axis=1)),
    "kept covariates": lambda y, p, w: summarize(
        "conditional_test", y, p, weights=w, covariates={"side": sides(p), "w": w}
    ),
    "skill rows": skill_rows,
    "exchanged ranks": exchanged_ranks,
    "point moments": lambda *rows: PointMoments.of(np.stack(rows, axis=1)),
    "point blocks": point_blocks,
}
ALL_KINDS = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def example(make):
    return make([0, 1, 1], [0.25, 0.25, 0.75], [1.0, 2.0, 0.5])


def assert_close(a, b):
    """Assert that two summaries hold the same numbers to 1e-12."""
    assert type(a) is type(b)
    for field in fields(a):
        ours, theirs = getattr(a, field.name), getattr(b, field.name)
        if isinstance(ours, tuple) and ours and isinstance(ours[0], Summary):
            for part, other in zip(ours, theirs, strict=True):
                assert_close(part, other)
        elif field.name == "held":
            assert a == b
        elif isinstance(ours, np.ndarray):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
        else:
            assert ours == (pytest.approx(theirs, rel=1e-12) if isinstance(ours, float) else theirs)


@ALL_KINDS
class TestMerge:
    @settings(max_examples=20)
    @given(parts=st.lists(rows, min_size=3, max_size=3))
    def test_is_associative(self, make, parts):
        a, b, c = (make(*zip(*part, strict=True)) for part in parts)
        assert_close((a + b) + c, a + (b + c))

    @settings(max_examples=20)
    @given(a=rows, b=rows)
    def test_is_the_summary_of_all_rows(self, make, a, b):
        merged = make(*zip(*a, strict=True)) + make(*zip(*b, strict=True))
        assert_close(merged, make(*zip(*a, *b, strict=True)))
        assert merged.n == len(a) + len(b)

    def test_zero_and_sums(self, make):
        summary = example(make)
        zero = type(summary).zero()
        assert zero.n == 0
        assert zero + summary == summary + zero == summary == sum([summary])
        assert zero + zero == zero == Summary.from_bytes(zero.to_bytes())
        assert sum([summary, summary]) == summary + example(make)
        assert summary == example(make)  # adding does not change the parts

    def test_only_with_its_own_kind(self, make, refusal):
        summary = example(make)
        for other in (other for other in MAKERS.values() if other is not make):
            message = refusal(lambda: summary + example(other), error=SummaryError)  # noqa: B023
            kinds = {type(summary).__name__, type(example(other)).__name__}
            # Ranks with other optional parts are of one kind, and say what does not fit
            assert all(kind in message for kind in kinds) if len(kinds) == 2 else "do not merge" in message

    def test_not_with_other_things(self, make):
        for other in (1, 0.0, None, "x", np.ones(3)):
            with pytest.raises(TypeError):
                example(make) + other
            with pytest.raises(TypeError):
                other + example(make)


@ALL_KINDS
class TestValue:
    def test_is_frozen(self, make, refusal):
        summary = example(make)
        for field in fields(summary):
            refusal(setattr, summary, field.name, None, error=FrozenInstanceError)
            value = getattr(summary, field.name)
            if isinstance(value, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    value[...] = 0

    def test_equal_by_value_and_without_a_hash(self, make, refusal):
        summary = example(make)
        assert summary == example(make)
        assert summary not in (make([0, 1, 0], [0.25, 0.25, 0.75], [1.0, 2.0, 0.5]), 3)
        assert repr(summary).startswith(f"{type(summary).__name__}(n=3")
        assert "unhashable" in refusal(hash, summary, error=TypeError)

    def test_bytes_and_pickle_bring_it_back(self, make):
        summary = example(make)
        data = summary.to_bytes()
        for back in (Summary.from_bytes(data), type(summary).from_bytes(data), pickle.loads(pickle.dumps(summary))):
            assert back == summary
            assert back.n == 3
            assert back + summary == summary + summary


def test_every_kind_is_here_and_known_by_its_name():
    here = {type(example(make)).__name__: type(example(make)) for make in MAKERS.values()}
    of_one_verb = {"Hits", "IntervalMoments", "SkillRows", "PointBlocks", "PointMoments"}  # which live with it
    assert set(here) == set(summaries.__all__) - {"Summary", "BinTable", "fold"} | of_one_verb
    assert {name: Summary.kinds[name] for name in here} == here


def test_wrong_kind_of_bytes(refusal):
    data = summarize("ece", [0, 1], [0.2, 0.7]).to_bytes()
    message = refusal(Ordered.from_bytes, data, error=SummaryError)
    assert "Grid; expected" in message
    assert message.endswith("Ordered")


DATA = summarize("brier_score", [0, 1, 1], [0.25, 0.5, 0.75], weights=[1, 2, 3]).to_bytes()
NESTED = summarize("ece", [0, 1], [[0.5, 0.5], [0.25, 0.75]], notion="classwise", strategy="mass").to_bytes()


def packed(about, version=codec.VERSION, **arrays):
    """Return bytes with a right checksum around a description of one's own making."""
    text = about if isinstance(about, bytes) else json.dumps(about).encode()
    stream = io.BytesIO()
    np.savez(stream, about=np.frombuffer(text, np.uint8), **arrays)
    return sealed(stream.getvalue(), version)


def sealed(content, version=codec.VERSION):
    return content + codec.TRAILER.pack(codec.MARK, version, zlib.crc32(content))


def described(name="Grid", plain=(), arrays=(), parts=()):
    return {"name": name, "plain": dict(plain), "arrays": list(arrays), "parts": dict(parts)}


class TestRoundTrip:
    def test_values(self):
        values = {"x": np.array([[1.5, np.nan], [np.inf, -0.0]]), "k": np.array([1, 2]), "t": ("a", "b"), "f": 0.1}
        name, back = codec.decode(codec.encode("Thing", values))
        assert name == "Thing"
        np.testing.assert_array_equal(back["x"], values["x"])
        assert back["x"].shape == (2, 2)
        assert back["k"].tolist() == [1, 2]
        assert (back["t"], back["f"]) == (("a", "b"), 0.1)

    def test_any_byte_order_and_kind_of_bytes(self):
        back = codec.decode(codec.encode("X", {"a": np.array([1.0, 2.0], ">f8")}))[1]["a"]
        assert back.dtype.isnative
        assert back.tolist() == [1.0, 2.0]
        for kind in (bytes, bytearray, memoryview):
            assert Summary.from_bytes(kind(DATA)) == Summary.from_bytes(DATA)
        with np.load(io.BytesIO(DATA), allow_pickle=False) as stored:
            assert all(stored[name].dtype.kind in "uf" for name in stored.files)


class TestRefused:
    @pytest.mark.parametrize(
        ("data", "words"),
        [
            *((data, "not a calibrant summary") for data in (b"", b"P", b"CALIBRANT", b"\x80\x04\x95")),
            *((data, f"the bytes of a summary; got {type(data).__name__}") for data in (None, "CALIBRANT", 3, [1, 2])),
            (DATA + b"\x00", "checksum"),
            (
                packed(described(), version=1),
                "format version 1; this calibrant reads version 2. Read them with the calibrant that wrote them",
            ),
            (packed(described("Sketch")), "Sketch; expected"),
            (packed(described("Ordered", {"dtype": "float64"})), "do not contain a whole Ordered"),
            (packed(described(arrays=["sums"]), sums=np.array([None])), "cannot be loaded when allow_pickle"),
        ],
    )
    def test_foreign_bytes(self, refusal, data, words):
        assert words in refusal(Summary.from_bytes, data, error=SummaryError)

    @pytest.mark.parametrize("data", [DATA, NESTED], ids=["flat", "nested"])
    def test_truncated_anywhere(self, data, refusal):
        for length in range(len(data)):
            refusal(Summary.from_bytes, data[:length], error=SummaryError)

    def test_one_bit_flipped_anywhere(self, refusal):
        for place in range(8 * len(DATA)):
            damaged = bytearray(DATA)
            damaged[place // 8] ^= 1 << place % 8
            refusal(Summary.from_bytes, bytes(damaged), error=SummaryError)

    @pytest.mark.parametrize(
        "data",
        [
            packed(b"not json"),
            packed(b"\xff\xfe"),
            packed([]),
            packed({"plain": {}, "arrays": [], "parts": {}}),
            packed({"name": "Grid"}),
            packed(described(arrays=["sums"])),
            packed({**described(), "arrays": 7}),
            packed(described(parts={"parts": 2}), **{"parts.0": np.zeros(3, np.uint8)}),
            sealed(b"PK"),
            sealed(b"PK" + DATA[2:60]),
            sealed(DATA[:99] + b"\xff" * 8 + DATA[107 : -codec.TRAILER.size]),
        ],
        ids=[
            *("text", "bytes", "list", "no name", "no values", "no array", "no names of arrays", "part missing"),
            *("empty", "cut short", "broken archive"),
        ],
    )
    def test_right_checksum_around_nonsense(self, data, refusal):
        refusal(Summary.from_bytes, data, error=SummaryError)
