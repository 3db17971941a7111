"""Batches add up to the whole, here, in other processes and in a training loop."""

import importlib
import multiprocessing
import tracemalloc
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from calibrant import brier_score, decompose, ece, kuiper_test, log_score, mce, reliability_curve, spiegelhalter_test
from calibrant.errors import SummaryError
from calibrant.integrations.stream import StreamingMetric
from calibrant.summaries import Grid
from calibrant.testing.data import numbers


def fed(stream, *columns, size=70):
    for start in range(0, len(columns[0]), size):
        stream.update(*(column[start : start + size] for column in columns))
    return stream


class TestCompute:
    @pytest.mark.parametrize(
        ("verb", "options"),
        [
            (ece, {"bins": 10}),
            (ece, {"strategy": "mass"}),
            (mce, {}),
            (brier_score, {}),
            (log_score, {"clip": 1e-6}),
            (decompose, {}),
            (kuiper_test, {}),
            (spiegelhalter_test, {"null": "asymptotic"}),
            (reliability_curve, {}),
        ],
    )
    def test_is_the_verb_of_all_rows(self, D1, verb, options):
        y, p = D1
        w = np.linspace(0.5, 2, len(y))
        found = fed(StreamingMetric(verb, **options), y, p).compute()
        np.testing.assert_allclose(numbers(found), numbers(verb(y, p, **options)), rtol=1e-10, atol=1e-12)
        found = fed(StreamingMetric(verb.__name__, **options), y, p, w).compute()
        np.testing.assert_allclose(numbers(found), numbers(verb(y, p, weights=w, **options)), rtol=1e-10, atol=1e-12)

    def test_class_probabilities_with_labels(self, D2):
        y, P = D2
        names = list("vwxyz")
        stream = fed(StreamingMetric("ece", notion="classwise", classes=names), np.array(names)[y], P)
        assert stream.compute() == pytest.approx(ece(y, P, notion="classwise"), rel=1e-12)

    def test_a_label_that_marks_the_event(self):
        stream = StreamingMetric("brier_score", pos_label="yes")
        stream.update(["yes", "no"], [0.5, 0.25])
        stream.update(["no"], [0.25])  # a batch without events
        assert stream.compute() == (0.25 + 2 * 0.0625) / 3

    def test_a_batch_of_two_other_labels(self, refusal):
        """It has no event; that no batch has one is told when the value is asked for."""
        stream = StreamingMetric("brier_score", pos_label="c")
        stream.update(["a", "b"], [0.5, 0.5])
        assert "pos_label 'c' is not among the labels of y, which has 'a', 'b'" in refusal(stream.compute)
        loaded, merged = (StreamingMetric("brier_score", pos_label="c") for _ in range(2))
        loaded.load(stream.state)
        merged.merge(stream)
        for each in (stream, loaded, merged):
            assert "pos_label 'c' is not among" in refusal(each.compute)
            each.update(["c", "a"], [0.5, 0.5])
            assert (each.compute(), each.n) == (0.25, 4)

    def test_may_be_asked_again_and_reset(self, D1, refusal):
        y, p = D1
        stream = StreamingMetric("ece")
        for end in (100, 200):
            stream.update(y[end - 100 : end], p[end - 100 : end])
            assert stream.compute() == stream.compute() == pytest.approx(ece(y[:end], p[:end]), rel=1e-12)
        assert (stream.n, repr(stream)) == (200, "StreamingMetric('ece', n=200)")
        stream.reset()
        assert (stream.n, stream.state) == (0, b"")
        assert "call update(y, prediction) first" in refusal(stream.compute)
        stream.update(y[:9], p[:9])
        assert stream.compute() == ece(y[:9], p[:9])

    def test_a_refused_batch_changes_nothing(self, D1, refusal):
        y, p = D1
        stream = fed(StreamingMetric("ece"), y, p)
        before = stream.state
        assert "row 1 is 1.5" in refusal(stream.update, [0, 1], [0.5, 1.5])
        stream.update([], [])  # no rows
        assert stream.state == before

    def test_the_summary_serves_other_verbs(self, D1):
        stream = fed(StreamingMetric("ece"), *D1)
        assert isinstance(stream.summary, Grid)
        assert mce(stream.summary) == pytest.approx(mce(*D1), rel=1e-12)


@pytest.mark.parametrize("verb", ["ece", "mce", "direction", "brier_score", "log_score"])
def test_memory_does_not_grow(verb, rng):
    stream = StreamingMetric(verb)

    def feed(times):
        for _ in range(times):
            p = rng.random(5000)
            stream.update(rng.random(5000) < p, p)

    feed(3)
    size = len(stream.state)
    tracemalloc.start()
    try:
        feed(1)
        kept = tracemalloc.get_traced_memory()[0]
        feed(100)
        assert tracemalloc.get_traced_memory()[0] < kept + 100_000  # 500,000 rows take 4 MB
    finally:
        tracemalloc.stop()
    assert stream.n == 520_000
    assert abs(len(stream.state) - size) < 200  # the header counts rows in digits


class TestMerge:
    def test_streams_and_states(self, D1):
        y, p = D1
        a, b = fed(StreamingMetric("ece"), y[:300], p[:300]), fed(StreamingMetric("ece"), y[300:], p[300:])
        before = b.state
        a.merge(b)
        assert b.state == before
        assert (a.n, a.compute()) == (500, pytest.approx(ece(y, p), rel=1e-12))
        c = StreamingMetric("ece")
        c.merge(a.state)
        c.merge(StreamingMetric("ece"))
        c.merge(b"")
        assert c.state == a.state

    def test_load_goes_on_from_a_state(self, D1):
        y, p = D1
        first, second = fed(StreamingMetric("ece"), y[:300], p[:300]), StreamingMetric("ece")
        second.update([1], [0.5])
        second.load(first.state)
        assert second.n == 300
        second.update(y[300:], p[300:])
        assert second.compute() == pytest.approx(ece(y, p), rel=1e-12)
        second.load(StreamingMetric("ece").state)
        assert second.n == 0

    def test_foreign_states_are_refused_and_change_nothing(self, D1, refusal):
        stream = fed(StreamingMetric("ece"), *D1)
        before = stream.state
        other = fed(StreamingMetric("brier_score"), *D1)
        for take in (stream.merge, stream.load):
            message = refusal(take, other.state, error=SummaryError)
            kinds = "Grid or Ordered or LabelBins or PerLabel or SimplexCells or KeptRows"
            assert message == f"ece reads summaries of kind {kinds}; got Moments(n=500)"
            assert "not a calibrant summary" in refusal(take, b"rows", error=SummaryError)
            assert "truncated or damaged" in refusal(take, before[:-1], error=SummaryError)
        assert "moments of" in refusal(fed(StreamingMetric("log_score"), *D1).merge, other, error=SummaryError)
        assert stream.state == before

    def test_streams_that_keep_different_things_do_not_merge(self, D1, refusal):
        width, mass = fed(StreamingMetric("ece"), *D1), fed(StreamingMetric("ece", strategy="mass"), *D1)
        assert "Ordered" in refusal(width.merge, mass, error=SummaryError)
        assert width.n == 500

    def test_large_and_small_batches_of_a_test(self, D1):
        y, p = D1
        stream = fed(StreamingMetric("spiegelhalter_test"), y, p, size=490)
        assert stream.compute() == spiegelhalter_test(y, p)


WORKER = """
import numpy as np
from calibrant.integrations.stream import StreamingMetric

def work(seed):
    rng = np.random.default_rng(seed)
    stream = StreamingMetric("ece", bins=10)
    for _ in range(5):
        p = rng.random(100)
        stream.update(rng.random(100) < p**2, p)
    return stream.state
"""


def test_two_processes_merged_by_bytes(tmp_path, monkeypatch):
    (tmp_path / "streaming_worker.py").write_text(WORKER)
    monkeypatch.syspath_prepend(tmp_path)
    work = importlib.import_module("streaming_worker").work
    # Processes that are spawned share nothing with this one but the bytes they send.
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        states = list(pool.map(work, [1, 2]))
    total, here = StreamingMetric("ece", bins=10), StreamingMetric("ece", bins=10)
    for seed, state in zip([1, 2], states, strict=True):
        total.merge(state)
        here.merge(work(seed))
    assert (total.n, total.state) == (1000, here.state)
    assert total.compute() > 0.1


def test_what_is_not_there(refusal):
    assert "expected a verb" in refusal(StreamingMetric, "accuracy")
    assert "ece has no option bin" in refusal(StreamingMetric, "ece", bin=10)


@pytest.mark.parametrize("classes", [2, 3])
def test_in_a_training_loop(require, classes):
    torch = require("torch")
    torch.manual_seed(0)
    X, model = torch.randn(512, 4), torch.nn.Linear(4, 1 if classes == 2 else classes)
    y = (X[:, 0] + 0.5 * torch.randn(512) > 0).long() + (classes - 2) * (X[:, 1] > 1).long()
    stream, seen = StreamingMetric("ece"), []
    for rows in torch.randperm(512).split(100):
        logits = model(X[rows])
        P = logits[:, 0].sigmoid() if classes == 2 else logits.softmax(1)
        assert P.requires_grad  # as in a loop: nobody detaches
        stream.update(y[rows], P)
        seen.append((y[rows], P.detach()))
    assert stream.n == 512
    expected = ece(*(torch.cat(part).numpy() for part in zip(*seen, strict=True)))
    assert stream.compute() == pytest.approx(expected, rel=1e-9)
