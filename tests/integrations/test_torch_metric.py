"""Tensors on their device give what the verbs give for arrays, in one process and in two."""

import copy
import io
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cb
from calibrant import summarize
from calibrant.errors import InputError, MissingExtraError, SummaryError
from calibrant.integrations.stream import StreamingMetric
from calibrant.integrations.torch import TorchMetric, rows
from calibrant.testing.data import numbers

BINARY = [
    ("ece", {}),
    ("ece", {"bins": 1}),
    ("ece", {"bins": 100}),
    ("ece", {"bins": 10, "norm": "l2"}),
    ("ece", {"bins": 10, "norm": "l2", "debias": True}),
    ("ece", {"bins": 10, "norm": "l2-squared", "debias": True}),
    ("ece", {"bins": 7, "norm": "max"}),
    ("mce", {"bins": 20}),
    ("direction", {"bins": 12}),
    ("brier_score", {}),
    ("log_score", {}),
    ("log_score", {"clip": 1e-2}),
    ("spiegelhalter_test", {}),
    ("spiegelhalter_test", {"null": "asymptotic", "alternative": "greater"}),
    ("spiegelhalter_test", {"null": "asymptotic", "alternative": "less"}),
]
CLASSES = [
    ("ece", {"bins": 10}),
    ("ece", {"notion": "confidence", "norm": "l2", "debias": True}),
    ("mce", {}),
    ("brier_score", {}),
    ("brier_score", {"half": True}),
    ("log_score", {}),
    ("log_score", {"clip": 0.1}),
]
FLOATS = ["float64", "float32", "float16"]


@pytest.fixture(scope="module")
def torch(require):
    return require("torch")


@pytest.fixture(scope="module")
def device(torch):
    """Return a GPU where there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def tensor(torch, device):
    def made(values, dtype=None):
        array = np.array(values, dtype)
        return torch.from_numpy(array).to(device)

    return made


def fed(metric, columns, batches):
    for part in zip(*(np.array_split(np.arange(len(column)), batches) for column in columns), strict=True):
        metric.update(*(column[rows] for column, rows in zip(columns, part, strict=True)))
    return metric


def updated(metric, *batch):
    metric.update(*batch)
    return metric


def same(found, expected):
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-12, atol=1e-13)


class TestCompute:
    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize(
        ("data", "verb", "options"), [("D1", *one) for one in BINARY] + [("D2", *one) for one in CLASSES]
    )
    def test_is_the_verb_of_all_rows(self, request, tensor, data, verb, options, dtype):
        y, p = request.getfixturevalue(data)
        p = p.astype("float32" if data == "D2" and dtype == "float16" else dtype)  # rows must sum to 1
        w = np.where(np.arange(len(y)) % 7 == 0, 0, np.linspace(0.5, 2, len(y)))
        measure = getattr(cb, verb)
        metric = fed(TorchMetric(verb, **options), (tensor(y), tensor(p)), 3)
        same(metric.compute(), measure(y, p, **options))
        if verb.endswith("score"):
            assert metric.summary.names == summarize(verb, y, p, **options).names
        metric = fed(TorchMetric(measure, **options), (tensor(y), tensor(p), tensor(w)), 3)
        same(metric.compute(), measure(y, p, weights=w, **options))
        assert metric.n == np.count_nonzero(w)

    @pytest.mark.parametrize("verb", ["kuiper_test", "kolmogorov_smirnov_test"])
    def test_cumulative_tests_read_a_grid(self, D1, tensor, verb):
        y, p = D1
        w = np.linspace(0.5, 2, len(y))
        measure = getattr(cb, verb)
        for columns in ((y, p), (y, p, w)):
            metric = fed(TorchMetric(verb), [tensor(column) for column in columns], 3)
            weights = w if len(columns) == 3 else None
            found, exact = metric.compute(), measure(y, p, weights=weights)
            same(found, measure(summarize("ece", y, p, weights=weights)))  # a Grid
            assert found.estimate - 1e-12 <= exact.estimate <= found.estimate + found.details["rounding"] + 1e-12

    def test_a_hundred_batches_and_empty_ones(self, torch, D1, tensor, device):
        columns = tensor(D1[0]), tensor(D1[1])
        for verb, options in BINARY[:1] + BINARY[9:13]:
            metric = updated(TorchMetric(verb, **options), torch.zeros(0), torch.zeros(0))
            fed(metric, columns, 100)
            metric.update(torch.zeros(0), torch.zeros(0), torch.zeros(0))
            same(metric.compute(), getattr(cb, verb)(*D1, **options))

    def test_large_batches_are_taken_in_parts(self, D1, D2, tensor, monkeypatch):
        monkeypatch.setattr(rows, "ROWS", 64)
        monkeypatch.setattr(rows, "PROBABILITIES", 64)
        for verb, data in [("ece", D1), ("brier_score", D1), ("ece", D2), ("log_score", D2)]:
            metric = updated(TorchMetric(verb), *map(tensor, data))
            same(metric.compute(), getattr(cb, verb)(*data))

    @pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float32", "float64"])
    def test_outcomes_of_any_type(self, tensor, dtype):
        metric = updated(TorchMetric("brier_score"), tensor([0, 1], dtype), tensor([0.25, 0.5]))
        metric.update(tensor([0, 1, 1]), tensor([0, 1, 0]))  # whole numbers are probabilities
        assert metric.compute() == (0.0625 + 0.25 + 1) / 5

    def test_a_number_marks_the_event(self, tensor):
        metric = updated(TorchMetric("brier_score", pos_label=2), tensor([2, 1]), tensor([0.5, 0.25]))
        metric.update(tensor([1]), tensor([0.25]))  # a batch without events
        assert metric.compute() == (0.25 + 2 * 0.0625) / 3
        metric = updated(TorchMetric("brier_score", pos_label=False), tensor([True, False]), tensor([0.0, 0.5]))
        assert metric.compute() == 0.125

    def test_impossible_outcomes_have_an_infinite_score(self, tensor):
        metric = updated(TorchMetric("log_score"), tensor([0, 1]), tensor([0.0, 1.0]))
        assert metric.compute() == 0.0
        metric.update(tensor([1]), tensor([0.0]))
        assert metric.compute() == np.inf
        assert metric.summary.infinite.tolist() == [1.0]
        assert np.isfinite(metric.summary.mean).all()

    def test_may_be_asked_again_and_reset(self, D1, tensor, refusal):
        y, p = map(tensor, D1)
        metric = TorchMetric("ece")
        for end in (100, 200):
            metric.update(y[end - 100 : end], p[end - 100 : end])
            assert metric.compute() == metric.compute() == pytest.approx(cb.ece(D1[0][:end], D1[1][:end]), rel=1e-12)
        assert repr(metric) == "TorchMetric('ece', n=200)"
        metric.reset()
        assert metric.n == 0
        assert "there are no rows" in refusal(metric.compute)
        metric.update(y, p)
        same(metric.compute(), cb.ece(*D1))

    @given(
        st.lists(
            st.tuples(st.booleans(), st.floats(0, 1, width=32), st.sampled_from([0.0, 0.5, 1.0, 3.0])),
            min_size=1,
            max_size=30,
        ),
        st.integers(1, 4),
        st.sampled_from(["ece", "brier_score", "log_score"]),
    )
    def test_any_rows_in_any_batches(self, require, drawn, batches, verb):
        torch = require("torch")
        y, p, w = (np.array(column) for column in zip(*drawn, strict=True))
        p = p.astype(np.float32)
        metric = fed(TorchMetric(verb), [torch.from_numpy(column) for column in (y, p, w)], batches)
        if not w.any():
            with pytest.raises(InputError, match="no rows"):
                metric.compute()
            return
        same(metric.compute(), getattr(cb, verb)(y, p, weights=w))
        found, expected = metric.summary, summarize(verb, y, p, weights=w)
        for field in ("sums", "mean", "mean2", "spread2", "infinite", "w", "w2", "weight_max", "n"):
            if hasattr(expected, field):
                np.testing.assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-11, atol=1e-13)


class TestEdges:
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_a_score_on_an_edge_belongs_to_the_bin_below(self, torch, device, dtype):
        metric = TorchMetric("ece")
        for m in range(1, 101):
            metric.reset()
            p = (torch.arange(m + 1, dtype=torch.float64) / m).to(getattr(torch, dtype)).to(device)
            metric.update(torch.ones(m + 1), p)
            assert metric.summary.bins(m).count.tolist() == [2] + [1] * (m - 1)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_every_sum_of_every_cell(self, tensor, dtype):
        rng = np.random.default_rng(0)
        fractions = np.arange(101)[:, None] / np.arange(1, 101)
        p = np.concatenate([rng.random(2000), fractions[fractions <= 1]]).astype(dtype)
        y, w = rng.random(p.size) < 0.5, rng.random(p.size)
        metric = updated(TorchMetric("ece"), tensor(y), tensor(p), tensor(w))
        found, expected = metric.summary, summarize("ece", y, p, weights=w)
        np.testing.assert_array_equal(found.sums[0], expected.sums[0])
        np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-13)
        assert found.weight_max == expected.weight_max

    def test_bfloat16_is_read_as_float32_as_the_verbs_read_it(self, torch, device):
        p = (torch.arange(101, dtype=torch.float64) / 100).bfloat16()
        y = torch.arange(101) % 3 == 0
        for bins in (2, 7, 10, 15, 20, 100):
            metric = updated(TorchMetric("ece", bins=bins), y.to(device), p.to(device))
            assert metric.compute() == pytest.approx(cb.ece(y, p, bins=bins), rel=1e-12)
            assert metric.compute() == pytest.approx(cb.ece(y, p.float(), bins=bins), rel=1e-12)

    def test_compiled(self, torch, D1, tensor, device):
        """`update` runs as it is, also before it has ever run, and inside of what is compiled."""
        y, p = map(tensor, D1)
        metric, other = TorchMetric("ece"), TorchMetric("ece")
        torch.compile(metric.update, backend="eager")(y, p)
        same(metric.compute(), cb.ece(*D1))

        def step(y, p):
            other.update(y, p * 1.0)
            return p.sum()

        torch.compile(step, backend="eager")(y, p)
        same(other.compute(), cb.ece(*D1))

    def test_the_first_of_tied_classes(self, tensor):
        metric = TorchMetric("ece", bins=2)
        metric.update(tensor([0, 1]), tensor([[0.375, 0.375, 0.25], [0.25, 0.375, 0.375]]))
        assert metric.compute() == 0.625

    def test_columns_of_a_matrix(self, torch, D1, device):
        y, p = D1
        P = torch.from_numpy(np.stack([1 - p, p], axis=1)).to(device)
        metric = updated(TorchMetric("ece"), torch.from_numpy(np.array(y)), P[:, 1])
        same(metric.compute(), cb.ece(y, p))


class TestWeights:
    @pytest.mark.parametrize("verb", ["ece", "brier_score", "log_score"])
    def test_rows_of_weight_zero_are_not_looked_at(self, tensor, verb):
        metric = updated(TorchMetric(verb), tensor([0, 9, 1]), tensor([0.25, np.nan, 0.5]), tensor([1.0, 0.0, 2.0]))
        metric.update(tensor([7]), tensor([7.0]), tensor([0]))
        metric.update(tensor([1, 0]), tensor([7.0, 0.5]), tensor([1e-45, 1.0], "float64"))  # too light to count
        assert metric.n == 3
        same(metric.compute(), getattr(cb, verb)([0, 1, 0], [0.25, 0.5, 0.5], weights=[1, 2, 1]))

    def test_class_probabilities_of_weight_zero(self, tensor):
        metric = TorchMetric("brier_score")
        metric.update(tensor([0, 9]), tensor([[0.5, 0.5, 0.0], [np.nan, 0.0, 3.0]]), tensor([1.0, 0.0]))
        assert metric.compute() == 0.5

    def test_no_weight_at_all(self, tensor, refusal):
        for verb in ("ece", "brier_score"):
            metric = updated(TorchMetric(verb), tensor([0]), tensor([0.5]), tensor([0.0]))
            assert "there are no rows" in refusal(metric.compute)

    def test_a_spread_beside_a_large_mean(self, tensor):
        y, p = np.zeros(4000), np.tile([0.5, 0.5 + 1e-9], 2000)
        metric = fed(TorchMetric("brier_score"), (tensor(y), tensor(p)), 10)
        expected = summarize("brier_score", y, p).spread2[0]
        assert metric.summary.spread2[0] == pytest.approx(expected, rel=1e-6)  # Σs² - (Σs)²/n has no digit of it


class TestLoop:
    def test_gradients_stay_out_of_it(self, torch, device):
        p = torch.rand(10, device=device, requires_grad=True)
        metric = updated(TorchMetric("brier_score"), torch.ones(10), p.sigmoid(), p.exp())
        assert not any(tensor.requires_grad for tensor in metric.state_dict().values() if torch.is_tensor(tensor))

    def test_inference_mode_and_outside_of_it(self, torch, D1, tensor):
        y, p = map(tensor, D1)
        for verb in ("ece", "brier_score"):
            metric = TorchMetric(verb)
            with torch.inference_mode():
                metric.update(y[:200], p[:200] * 1.0)
                metric.compute()
            metric.update(y[200:], p[200:])
            same(metric.compute(), getattr(cb, verb)(*D1))

    def test_mixed_precision(self, torch, D1, D2, tensor, device):
        with torch.autocast(device, dtype=torch.bfloat16):
            for verb, data in [("ece", D1), ("brier_score", D1), ("log_score", D2)]:
                metric = updated(TorchMetric(verb), *map(tensor, data))
                same(metric.compute(), getattr(cb, verb)(*data))

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize(("verb", "K"), [("ece", 1), ("ece", 3), ("brier_score", 3), ("log_score", 1)])
    def test_nothing_is_read_from_the_device(self, torch, verb, K, weighted):
        """Tensors of the device "meta" have no values, so that reading one is an error."""
        metric = TorchMetric(verb, pos_label=1 if K == 1 else None)
        p = torch.empty((8, K) if K > 1 else 8, device="meta")
        for _ in range(2):
            metric.update(torch.empty(8, device="meta"), p, torch.empty(8, device="meta") if weighted else None)
        with pytest.raises(NotImplementedError):
            metric.compute()

    def test_sums_are_kept_where_they_should_be(self, torch, D1, device):
        y, p = (torch.from_numpy(np.array(column)) for column in D1)
        metric = updated(TorchMetric("ece", device=device), y, p)
        assert metric.state_dict()["sums"].device.type == device
        metric.to("cpu")
        metric.update(y.to(device), p.to(device))
        assert metric.state_dict()["sums"].device.type == "cpu"
        assert (metric.n, metric.compute()) == (1000, pytest.approx(cb.ece(*D1), rel=1e-12))

    def test_sums_follow_the_predictions(self, torch, D1, tensor):
        other = updated(TorchMetric("ece", device="cpu"), *map(tensor, D1))
        metric = TorchMetric("ece")
        metric.load_state_dict(other.state_dict())  # as from a checkpoint read on the host
        p = torch.empty(4, device="meta")
        metric.update(torch.empty(4), p)
        assert metric.state_dict()["sums"].device.type == "meta"

    def test_a_device_without_float64(self, torch, tensor, monkeypatch, refusal):
        def zeros(*_, **__):
            raise TypeError("the MPS framework doesn't support float64")

        metric = TorchMetric("ece")
        monkeypatch.setattr(torch, "zeros", zeros)
        message = refusal(metric.update, tensor([0]), tensor([0.5]))
        assert message.startswith(
            "sums are kept in float64, but the MPS framework doesn't support float64. TorchMetric"
        )


class TestFaults:
    @pytest.mark.parametrize(
        ("y", "p", "w", "words"),
        [
            ([0, 1, 0], [0.5, 0.3, 1.5], None, "batch 1: prediction must lie in [0, 1]; row 2 is 1.5. If these are lo"),
            ([0, 1, 0], [0.5, -1e-9, 2.0], None, "row 1 is -1e-09. If this is rounding"),
            ([0, 1, 0], [0.5, np.nan, 2.0], None, "prediction must lie in [0, 1]; row 1 is nan (missing)"),
            ([0, 2, 3], [0.5, 0.5, 0.5], None, "batch 1: y must be 0 and 1; row 1 is 2. If another number"),
            ([0, 1, np.nan], [0.5, 0.5, 0.5], None, "y must be 0 and 1; row 2 is nan (missing)"),
            ([0.25, 0.75], [0, 1], None, "row 0 is 0.25. Outcome first, prediction second"),
            ([0, 1], [0.5, 0.5], [1, -2.0], "batch 1: weights must be finite and at least 0; row 1 is -2.0"),
            ([0, 1], [0.5, 0.5], [np.inf, 1], "row 0 is inf"),
            ([0, 1], [0.5, 0.5], [0, np.nan], "row 1 is nan"),
            ([0, 1], [0.5, 0.5], [1, 1e200], "the largest weight must lie between 1e-100 and 1e+100; got 1e+200"),
            ([0, 1], [0.5, 0.5], [1e-200, 0], "got 1e-200"),
            ([0, 0], [[1, 0, 0], [0.5, 0.4, 0]], None, "row 1 sums to 0.9. Take softmax in float32"),
            ([0, 0], [[1, 0, 0], [1.0, -0.5, 0.5]], None, "row 1, column 1 is -0.5"),
            ([0, 0], [[1, 0, 0], [0, np.nan, 1]], None, "row 1, column 1 is nan"),
            ([0, 3], [[1, 0, 0], [0, 1, 0]], None, "y must contain column numbers 0..2 (3 columns); row 1 is 3."),
            ([-1, 0], [[1, 0, 0], [0, 1, 0]], None, "row 0 is -1."),
            ([0, 0.5], [[1, 0, 0], [0, 1, 0]], None, "row 1 is 0.5."),
            ([0, np.nan], [[1, 0, 0], [0, 1, 0]], None, "row 1 is nan."),
        ],
    )
    @pytest.mark.parametrize("verb", ["ece", "log_score"])
    def test_are_told_when_a_value_is_asked_for(self, tensor, refusal, verb, y, p, w, words):
        P = np.array(p, float)
        metric = updated(TorchMetric(verb), tensor([0]), tensor(P[:1] * 0 if P.ndim == 1 else np.eye(1, 3)))
        metric.update(tensor(y), tensor(P), None if w is None else tensor(w))
        metric.update(tensor([5]), tensor(np.full_like(P[:1], 7)))  # the first fault is told
        message = refusal(metric.compute)
        assert words in message
        assert message.endswith("call reset() and start again")
        assert refusal(metric.sync) == refusal(lambda: metric.summary) == message
        metric.reset()
        metric.update(tensor([1]), tensor(P[:1] * 0 + 0.5 if P.ndim == 1 else np.eye(1, 3)))
        assert metric.compute() > 0

    def test_rows_of_parts(self, tensor, monkeypatch, refusal):
        monkeypatch.setattr(rows, "ROWS", 4)
        p = np.full(11, 0.5)
        p[[6, 10]] = 1.5, 2.5
        metric = updated(TorchMetric("ece"), tensor(np.zeros(11)), tensor(p))
        assert "batch 0: prediction must lie in [0, 1]; row 6 is 1.5" in refusal(metric.compute)

    def test_a_label_that_is_not_there(self, tensor, refusal):
        metric = updated(TorchMetric("ece", pos_label=7), tensor([1, 1, 2]), tensor([0.5, 0.5, 0.5]))
        assert refusal(metric.compute) == "pos_label 7 is not among the labels of y, which has 1, 2"
        again = TorchMetric("ece", pos_label=7)
        again.load_state_dict(metric.state_dict())
        assert refusal(again.compute) == refusal(metric.compute)
        again.update(tensor([7.0]), tensor([0.5]))  # the event of another batch
        same(again.compute(), cb.ece([0, 0, 0, 1], [0.5] * 4))
        metric = updated(TorchMetric("ece", pos_label=7), tensor([7, 1, np.nan]), tensor([0.5, 0.5, 0.5]))
        assert "y must not have missing values; row 2 is nan" in refusal(metric.compute)

    def test_travel_with_states_and_merges(self, tensor, refusal):
        bad, good = TorchMetric("ece"), TorchMetric("ece")
        bad.update(tensor([0]), tensor([1.5]))
        good.update(tensor([0]), tensor([0.5]))
        good.merge(bad)
        loaded = TorchMetric("ece")
        loaded.load_state_dict(good.state_dict())
        assert refusal(loaded.compute) == refusal(bad.compute)


class TestRefused:
    @pytest.mark.parametrize(
        ("verb", "options"),
        [
            ("ece", {"strategy": "mass"}),
            ("ece", {"bins": 101}),
            ("ece", {"bins": "sweep"}),
            ("ece", {"notion": "classwise"}),
            ("ece", {"notion": "canonical", "bins": 3}),
            ("mce", {"notion": "top-label"}),
            ("decompose", {"score": "log"}),
            ("reliability_curve", {"strategy": "isotonic"}),
        ],
    )
    def test_what_needs_more_than_sums(self, torch, refusal, verb, options):
        message = refusal(TorchMetric, verb, **options)
        assert "needs more than the sums of a fixed size that TorchMetric keeps; use StreamingMetric(" in message
        assert all(f"{name}={value!r}" in message for name, value in options.items())
        StreamingMetric(verb, **options)  # as advised

    @pytest.mark.parametrize(
        ("verb", "options", "words"),
        [
            *(
                (verb, {}, f"use StreamingMetric({verb!r}). TorchMetric serves brier_score, cumulative_differences, ")
                for verb in ("skce", "mmce", "ucme", "coverage", "crps")
            ),
            ("ece", {"bins": 0}, "bins must be at least 1; got 0"),
            ("ece", {"norm": "l7"}, "norm must be one of 'l1'"),
            ("ece", {"debias": True}, "debias=True is defined for"),
            ("ece", {"n_bins": 5}, "Did you mean bins=5?"),
            ("ece", {"classes": [0, 1]}, "takes no classes="),
            ("ece", {"pos_label": "yes"}, "pos_label must be a number, as tensors contain no text; got 'yes'"),
            ("accuracy", {}, "expected a verb"),
        ],
    )
    def test_verbs_and_options(self, torch, refusal, verb, options, words):
        assert words in refusal(TorchMetric, verb, **options)

    def test_batches_that_cannot_be_read(self, torch, refusal):
        half, y = torch.full((4,), 0.5), torch.zeros(4)
        metric = TorchMetric("ece")
        for batch, words in [
            (([0, 1], half), "y must be a tensor; got [0, 1] (list). StreamingMetric takes lists"),
            ((y, [0.5]), "prediction must be a tensor"),
            ((y, half, [1]), "weights must be a tensor"),
            ((y, half[:, None]), "got shape (4, 1); pass prediction.squeeze(1)"),
            ((y, half.reshape(1, 2, 2)), "got shape (1, 2, 2); reshape it"),
            ((y, torch.tensor(0.5)), "got shape ()"),
            ((y[:3], half), "one outcome for each of the 4 rows of prediction; got shape (3,)"),
            ((y[:, None], half), "got shape (4, 1)"),
            ((y, half, half[:3]), "weights must have one value per row: expected 4 rows, got shape (3,)"),
            ((y, half > 0), "prediction must be probabilities of type bfloat16, float16, float32, float64; got bool"),
            ((y, half.to(torch.complex64)), "got complex64"),
            ((y, half.to(torch.float8_e4m3fn)), "got float8_e4m3fn"),
            ((y, half.to_sparse()), "prediction must be a dense tensor; got torch.sparse_coo"),
            ((y.to(torch.complex64), half), "y must contain 0 and 1; got values of type complex64"),
            ((y > 0, torch.ones(4, 3) / 3), "y must contain column numbers 0..2; got values of type bool"),
            ((y, half, half > 0), "weights must be numbers; got values of type bool"),
        ]:
            assert words in refusal(metric.update, *batch)
        assert (metric.n, metric.state_dict()["batches"]) == (0, 0)

    def test_predictions_of_another_kind(self, torch, refusal):
        y, p, P = torch.zeros(4), torch.full((4,), 0.5), torch.full((4, 2), 0.5)
        metric = updated(TorchMetric("ece"), y, p)
        assert "prediction has 2 columns (1: a 1-D tensor), that of earlier batches 1" in refusal(metric.update, y, P)
        assert "notion='confidence' is for" in refusal(TorchMetric("ece", notion="confidence").update, y, p)
        assert "half=True is for" in refusal(TorchMetric("brier_score", half=True).update, y, p)
        assert "Reduce it first" in refusal(TorchMetric("kuiper_test").update, y, P)
        assert "pos_label= belongs" in refusal(TorchMetric("ece", pos_label=1).update, y, P)
        assert metric.n == 4

    def test_too_little_for_a_limit_distribution(self, tensor, refusal):
        moments, grids = TorchMetric("spiegelhalter_test"), [TorchMetric("spiegelhalter_test", null="monte-carlo")]
        grids.append(TorchMetric("kuiper_test"))
        for metric in (moments, *grids):
            metric.update(tensor([0, 1]), tensor([0.25, 0.5]))
        assert 'choose null="asymptotic"' in refusal(moments.compute, error=SummaryError)
        for metric in grids:
            assert metric.compute().method.endswith("redraws of the outcomes from the mean score of each cell")

    def test_without_torch(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch", None)
        with pytest.raises(MissingExtraError, match=r"TorchMetric needs .* pip install 'calibrant\[torch\]'"):
            TorchMetric("ece")


class TestState:
    @pytest.mark.parametrize(("verb", "options"), [("ece", {}), ("log_score", {"clip": 0.01}), ("kuiper_test", {})])
    def test_goes_through_a_file(self, torch, D1, tensor, verb, options):
        y, p = map(tensor, D1)
        first, second = TorchMetric(verb, **options), TorchMetric(verb, **options)
        first.update(y[:300], p[:300])
        file = io.BytesIO()
        torch.save(first.state_dict(), file)
        file.seek(0)
        second.update(y, p)
        second.load_state_dict(torch.load(file, weights_only=True))
        assert (second.n, second.state_dict()["batches"]) == (300, 1)
        for metric in (first, second):
            metric.update(y[300:], p[300:])
        same(second.compute(), first.compute())
        first.load_state_dict(TorchMetric(verb, **options).state_dict())
        assert first.n == 0
        first.update(y, p)
        assert first.n == 500

    def test_is_a_copy(self, D1, tensor):
        metric = updated(TorchMetric("ece"), *map(tensor, D1))
        for name in ("sums", "weight_max"):
            metric.state_dict()[name].zero_()
        same(metric.compute(), cb.ece(*D1))

    def test_foreign_states_are_refused_and_change_nothing(self, D1, tensor, refusal):
        y, p = map(tensor, D1)
        metric, other, log = TorchMetric("ece"), TorchMetric("brier_score"), TorchMetric("log_score")
        for each in (metric, other, log):
            each.update(y, p)
        message = refusal(metric.load_state_dict, other.state_dict(), error=SummaryError)
        assert message == "this TorchMetric keeps the sums of a Grid; got those of brier_score"
        assert "got those of brier_score" in refusal(log.merge, other, error=SummaryError)
        for state in ({"a": 1}, [1]):
            message = refusal(metric.load_state_dict, state, error=SummaryError)
            assert "the state of a TorchMetric has holds, columns, batches, sums" in message
        same(metric.compute(), cb.ece(*D1))

    @pytest.mark.parametrize(
        ("name", "change", "words"),
        [
            ("sums", lambda t: t.float(), "type float64 and shape (11, 4150); got torch.float32 of shape (11, 4150)"),
            ("sums", lambda t: t.to_sparse(), "sums of a state must be a dense tensor"),
            ("sums", lambda t: t.tolist(), "sums of a state must be a dense tensor"),
            ("sums", lambda t: t[:, 1:], "of shape (11, 4149)"),
            ("columns", lambda n: -1, "columns of a state must be a whole number, 0 or more; got -1"),
            ("columns", lambda n: 0, "rows cannot have 0 columns"),
            ("columns", lambda n: 10**12, "columns of a state must be a whole number"),
            ("batches", lambda n: 1.5, "batches of a state must be a whole number, 0 or more; got 1.5"),
            ("batches", lambda n: True, "batches of a state must be a whole number, 0 or more; got True"),
        ],
    )
    def test_damaged_states_are_refused_and_change_nothing(self, D1, tensor, refusal, name, change, words):
        metric = updated(TorchMetric("ece"), *map(tensor, D1))
        state = metric.state_dict()
        assert words in refusal(metric.load_state_dict, {**state, name: change(state[name])}, error=SummaryError)
        same(metric.compute(), cb.ece(*D1))

    def test_a_state_with_a_fault_can_be_loaded(self, D1, tensor, refusal):
        y, p = D1
        metric, other = TorchMetric("ece"), TorchMetric("ece")
        metric.update(tensor(y), tensor(np.where(np.arange(len(p)) == 7, np.nan, p)))
        other.load_state_dict(metric.state_dict())
        assert "row 7" in refusal(other.compute)

    @pytest.mark.parametrize(
        ("device", "words"),
        [
            *((given, "torch knows, such as 'cpu' or 'cuda:0'; got ") for given in ("gpu", 3.5, "", dict, "cuda:-2")),
            ("cuda:99", "is there; got 'cuda:99', and torch finds "),
        ],
    )
    def test_devices_that_are_none(self, device, words, refusal):
        for call in (lambda: TorchMetric("ece", device=device), lambda: TorchMetric("ece").to(device)):
            assert refusal(call).startswith(f"device must be one that {words}")
        assert "got None" in refusal(TorchMetric("ece").to, None)

    @pytest.mark.parametrize("verb", ["ece", "brier_score", "spiegelhalter_test"])
    def test_merge(self, D1, tensor, verb):
        y, p = map(tensor, D1)
        w = tensor(np.linspace(0.5, 2, 500))
        a, b = TorchMetric(verb), TorchMetric(verb)
        a.update(y[:300], p[:300], w[:300])
        b.update(y[300:], p[300:], w[300:])
        a.merge(b)
        a.merge(TorchMetric(verb))
        assert b.n == 200
        same(a.compute(), getattr(cb, verb)(*D1, weights=w.cpu()))
        c = TorchMetric(verb)
        c.merge(a)
        same(c.compute(), a.compute())

    def test_what_merges(self, D1, D2, tensor, refusal):
        binary, classes = TorchMetric("ece"), TorchMetric("mce")
        binary.update(*map(tensor, D1))
        classes.update(*map(tensor, D2))
        assert "5 columns" in refusal(binary.merge, classes)
        assert "takes in another one; got 3 (int)" in refusal(binary.merge, 3)
        other = TorchMetric("mce", bins=9)
        other.merge(binary)  # both keep a grid
        same(other.compute(), cb.mce(*D1, bins=9))

    def test_the_summary_serves_other_verbs(self, D1, tensor):
        metric = updated(TorchMetric("ece"), *map(tensor, D1))
        same(cb.mce(metric.summary, bins=8), cb.mce(*D1, bins=8))
        same(cb.ece(metric.summary + summarize("ece", *D1)), cb.ece(*D1))
        before = cb.ece(metric.summary)
        kept = metric.summary
        metric.update(*map(tensor, D1))
        assert cb.ece(kept) == before

    def test_copies(self, D1, tensor):
        for verb in ("ece", "log_score"):
            metric = updated(TorchMetric(verb), *map(tensor, D1))
            for other in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
                other.update(*map(tensor, D1))
                assert (metric.n, other.n) == (500, 1000)
                same(other.compute(), getattr(cb, verb)(*D1))


WORKER = """
import json, sys
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist

from calibrant.errors import InputError
from calibrant.integrations.torch import TorchMetric

rank, folder, data = int(sys.argv[1]), sys.argv[2], sys.argv[3]
dist.init_process_group(
    "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2, timeout=timedelta(seconds=120)
)
with np.load(data) as arrays:
    D1, D2 = ([torch.from_numpy(arrays[name]) for name in names] for names in (("D1_y", "D1_p"), ("D2_y", "D2_P")))
found = {}


def told(call):
    try:
        return call()
    except InputError as refusal:
        return str(refusal)


def plain(result):
    values = (result.statistic, result.pvalue, result.estimate) if hasattr(result, "pvalue") else (result,)
    return [float(value) for value in values]


w = torch.linspace(0.5, 2, 500, dtype=torch.float64)
share = [slice(0, 430), slice(430, 500)][rank]
for verb in ("ece", "brier_score", "log_score", "spiegelhalter_test", "kuiper_test"):
    metric = TorchMetric(verb)
    columns = [column[share] for column in (*D1, w)]
    for batch in zip(*(column.split(60) for column in columns)):  # 8 batches here, 2 there
        metric.update(*batch)
    found[verb] = [plain(metric.compute()), plain(metric.compute()), metric.n, metric.sync().n, metric.summary.n]
    if verb == "brier_score":
        found["spread"] = metric.sync().spread2.tolist()

for verb in ("ece", "brier_score"):  # the second has no rows
    metric = TorchMetric(verb)
    if rank == 0:
        metric.update(*D2)
    found[f"one, {verb}"] = [plain(metric.compute()), metric.n]

metric = TorchMetric("ece")
found["none"] = told(metric.compute)

metric.update(torch.tensor([0, 1]), torch.tensor([0.25, 0.5]))
alone = dist.new_group([0])
if rank == 0:
    found["group"] = [plain(metric.compute(alone)), metric.sync(alone).n]
metric.update(torch.tensor([0, 1]), torch.tensor([0.25, 1.5 if rank == 1 else 0.5]))
found["fault"] = told(metric.compute)
metric.reset()
metric.update(torch.tensor([0]), torch.tensor([0.5]))
found["after"] = plain(metric.compute())

metric = TorchMetric("ece")
metric.update(torch.tensor([0]), torch.full((1, 2 + rank), 1 / (2 + rank)))
found["kinds"] = told(metric.compute)

dist.barrier()
dist.destroy_process_group()
with open(f"{folder}/{rank}.json", "w") as file:
    json.dump(found, file)
"""


@pytest.fixture(scope="module")
def ranks(torch, tmp_path_factory):
    """Return what two processes found that share nothing but a file to meet at."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "worker.py").write_text(WORKER)
    data = Path(__file__).parents[1] / "references" / "probabilities.npz"
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}
    environment = {**os.environ, **loopback, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(folder / "worker.py")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": environment}
    workers = [subprocess.Popen([*command, str(rank), str(folder), str(data)], **pipes) for rank in (0, 1)]
    try:
        for worker in workers:
            output = worker.communicate(timeout=200)[0]
            assert worker.returncode == 0, output
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)]


class TestProcesses:
    @pytest.mark.parametrize("verb", ["ece", "brier_score", "log_score", "spiegelhalter_test", "kuiper_test"])
    def test_every_rank_gets_the_value_of_all_rows(self, ranks, D1, verb):
        y, p = D1
        w = np.linspace(0.5, 2, 500)
        rows = summarize("ece", y, p, weights=w) if verb == "kuiper_test" else None
        expected = getattr(cb, verb)(*((y, p) if rows is None else (rows,)), weights=w if rows is None else None)
        expected = (expected.statistic, expected.pvalue, expected.estimate) if verb.endswith("test") else [expected]
        for found, own in zip(ranks, (430, 70), strict=True):
            value, again, n, whole, summary = found[verb]
            np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-13)
            assert (again, n, whole, summary) == (value, own, 500, own)  # what a rank knows stays as it was
        assert ranks[0][verb][0] == ranks[1][verb][0]

    def test_spread(self, ranks, D1):
        expected = summarize("brier_score", *D1, weights=np.linspace(0.5, 2, 500)).spread2
        for found in ranks:
            np.testing.assert_allclose(found["spread"], expected, rtol=1e-12)

    def test_a_rank_without_rows(self, ranks, D2):
        for verb in ("ece", "brier_score"):
            for found, n in zip(ranks, (600, 0), strict=True):
                assert found[f"one, {verb}"] == [[pytest.approx(getattr(cb, verb)(*D2), rel=1e-12)], n]
        assert all("there are no rows" in found["none"] for found in ranks)

    def test_a_group_of_processes(self, ranks):
        assert ranks[0]["group"] == [[cb.ece([0, 1], [0.25, 0.5])], 2]

    def test_a_fault_of_one_is_told_by_all(self, ranks):
        assert ranks[0]["fault"] == ranks[1]["fault"]
        assert ranks[0]["fault"].startswith("rank 1, batch 1: prediction must lie in [0, 1]; row 1 is 1.5")
        assert ranks[0]["after"] == ranks[1]["after"] == [0.5]

    def test_predictions_of_different_kinds(self, ranks):
        for found in ranks:
            assert found["kinds"] == "all processes must give predictions of one kind; got 2 and 3 columns"
