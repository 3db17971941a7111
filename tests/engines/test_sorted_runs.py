"""Sorted runs on disk."""

import gc
import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cb
from calibrant.core.catalogue import entries, find
from calibrant.core.ordered import TwoColumns
from calibrant.engines import merging as merge_runs
from calibrant.engines import sorted_runs
from calibrant.engines.run_files import remove_runs
from calibrant.engines.sorted_runs import SortedRuns
from calibrant.errors import CalibrantError, SummaryError
from calibrant.inputs.arrays import unit_weights
from calibrant.inputs.probabilities import Binary
from calibrant.summaries import Ordered


def part(scores, outcomes, weights=None, kind=Ordered, dtype=np.float64):
    p = np.asarray(scores, dtype)
    w = unit_weights(p.size) if weights is None else np.asarray(weights, float)
    return kind.of(Binary(np.asarray(outcomes, np.uint8), p, w))


def random_parts(many, rows, seed=0, *, decimals=None, weighted=False, dtype=np.float64, kind=Ordered):
    rng = np.random.default_rng(seed)
    for _ in range(many):
        p = rng.random(rows)
        p = p if decimals is None else p.round(decimals)
        w = rng.integers(1, 4, rows) / 2 if weighted else None
        yield part(p, rng.random(rows) < p, w, kind, dtype)


def assert_same(found, expected):
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    for name in ("score", "weight", "count", "events"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), strict=False)
        assert not getattr(found, name).flags.writeable
    assert found == expected


@pytest.fixture
def small_windows(monkeypatch):
    """Windows of a few entries, so that few rows go through everything."""
    monkeypatch.setattr(merge_runs, "MIN_WINDOW_ENTRIES", 2)
    monkeypatch.setattr(sorted_runs, "MAX_MERGED", 3)


ROWS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 1.0]), st.booleans(), st.sampled_from([1.0, 0.5, 2.0, 3.0])
    ),
    max_size=12,
)


def added(parts, **options):
    runs = SortedRuns(**options)
    for made in parts:
        runs.add(made)
    return runs


class TestTheTotalIsTheSum:
    @given(
        parts=st.lists(st.tuples(ROWS, st.booleans()), min_size=1, max_size=14),
        memory=st.integers(1, 30),
        kind=st.sampled_from([Ordered, TwoColumns]),
        dtype=st.sampled_from(["float16", "float32", "float64"]),
        weighted=st.booleans(),
    )
    @settings(max_examples=60, deadline=None)
    def test_any_parts(self, parts, memory, kind, dtype, weighted):
        given_parts = []
        for rows, has_weights in parts:
            p, y, w = zip(*rows, strict=True) if rows else ((), (), ())
            made = part(p, y, w if weighted and has_weights else None, kind, dtype) if rows else kind.zero()
            given_parts.append(made)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(merge_runs, "MIN_WINDOW_ENTRIES", 2)
            patched.setattr(sorted_runs, "MAX_MERGED", 3)
            runs = added(given_parts, memory=memory)
            found = runs.total()
            assert_same(found, reduce(add, given_parts))
            assert_same(runs.total(), found)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_many_rows(self, weighted, dtype):
        for decimals in (None, 2, 4):
            parts = list(random_parts(40, 500, decimals=decimals, weighted=weighted, dtype=dtype))
            for memory in (700, 5000, 10**6):
                assert_same(added(parts, memory=memory).total(), reduce(add, parts))

    @pytest.mark.usefixtures("small_windows")
    def test_one_score_with_more_weights_than_a_window_holds(self):
        w = np.random.default_rng(0).uniform(0.5, 2.0, 300)
        parts = [part(np.full(50, 0.5), np.arange(50) % 2, w[k : k + 50]) for k in range(0, 300, 25) if k + 50 <= 300]
        found = added(parts, memory=20).total()
        assert_same(found, reduce(add, parts))
        assert found.score.size == 300

    @pytest.mark.usefixtures("small_windows")
    def test_runs_one_after_another(self):
        parts = [part([k / 100, k / 100 + 0.005], [0, 1]) for k in range(99)]
        assert_same(added(reversed(parts), memory=5).total(), reduce(add, parts))

    def test_more_may_follow(self):
        parts, runs = list(random_parts(6, 300, decimals=3)), SortedRuns(memory=400)
        for many, made in enumerate(parts, start=1):
            runs.add(made)
            assert_same(runs.total(), reduce(add, parts[:many]))

    def test_sizes_larger_than_one(self):
        one = Ordered(np.array([0.5, 3.0, 1e200]), unit_weights(3), np.ones(3, int), np.array([1, 0, 1]), "float64")
        two = Ordered(np.array([1.0, np.inf]), unit_weights(2), np.ones(2, int), np.array([1, 0]), "float64")
        assert_same(added([one, two], memory=1).total(), one + two)

    def test_large_counts(self):
        parts = [
            Ordered(np.array([0.25, 0.5]), unit_weights(2), np.array([many, 1]), np.array([many // 2, 1]), "float64")
            for many in (1, 11, 12, 180, 46_000, 10**12)
        ]
        runs = SortedRuns(memory=1)
        for many, made in enumerate(parts, start=1):
            runs.add(made)
            assert_same(runs.total(), reduce(add, parts[:many]))


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return the folder in which temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


class TestInMemory:
    def test_nothing_is_written(self, temporary):
        parts = list(random_parts(5, 100))
        assert_same(added(parts, memory=1000).total(), reduce(add, parts))
        few_scores = list(random_parts(200, 1000, decimals=2))
        assert_same(added(few_scores, memory=1000).total(), reduce(add, few_scores))
        assert not list(temporary.iterdir())

    def test_no_parts_and_empty_ones(self):
        assert_same(SortedRuns(memory=9).total(), Ordered.zero())
        assert_same(added([TwoColumns.zero()], memory=9).total(), TwoColumns.zero())


class TestOnDisk:
    def test_the_columns_are_mapped_and_equal_values_take_no_room(self, tmp_path):
        total = added(random_parts(20, 500), folder=tmp_path, memory=1000).total()
        assert isinstance(total.score, np.memmap)
        assert isinstance(total.events, np.memmap)
        assert total.weight.strides == total.count.strides == (0,)
        assert 16 * total.score.size == 160_000
        assert sum(path.stat().st_size for path in tmp_path.rglob("run-*")) == 160_000

    def test_scores_of_32_bits(self, tmp_path):
        runs = added(random_parts(20, 500, dtype="float32"), folder=tmp_path, memory=1000)
        assert runs.total().score.dtype == np.float64

    @pytest.mark.skipif(os.name == "nt", reason="files in use cannot be removed there")
    def test_the_folder_is_removed_and_the_total_outlives_it(self, temporary):
        made = next(random_parts(1, 100))
        runs = added([made], memory=10)
        total = runs.total()
        assert len(list(temporary.iterdir())) == 1
        del runs
        assert not list(temporary.iterdir())
        assert_same(total, made)

    def test_an_interrupt_while_a_run_is_written(self, tmp_path, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        runs = added(random_parts(2, 100), folder=tmp_path, memory=10)
        monkeypatch.setattr(merge_runs, "pool_rows", interrupted)
        with pytest.raises(KeyboardInterrupt):
            runs.total()
        assert {path.name for path in tmp_path.iterdir()} == {
            f"run-00000{k}.{column}" for k in (0, 1) for column in ("score", "events")
        }


@pytest.fixture(scope="module", params=["plain", "ties", "weights"])
def both(request):
    """The same rows on disk and in memory."""
    options = {"plain": {}, "ties": {"decimals": 2}, "weights": {"weighted": True, "decimals": 3}}[request.param]
    parts = list(random_parts(8, 400, **options))
    return added(parts, memory=50).total(), reduce(add, parts)


class TestVerbs:
    """What verbs find does not depend on where the rows are."""

    def test_every_verb_that_reads_sorted_rows(self, both, for_each):
        def check(name):
            mapped, plain = (_outcome(find(name).verb, summary) for summary in both)
            assert _plain(mapped) == _plain(plain)

        for_each([name for name, entry in entries().items() if Ordered in entry.reads], check)

    @pytest.mark.parametrize(
        ("verb", "options"),
        [
            ("ece", {"strategy": "mass"}),
            ("ece", {"bins": "sweep"}),
            ("kuiper_test", {"null": "monte-carlo", "resamples": 99}),
            ("kolmogorov_smirnov_test", {"null": "monte-carlo", "resamples": 99}),
            ("spiegelhalter_test", {"null": "monte-carlo", "resamples": 99}),
            ("reliability_curve", {"strategy": "mass"}),
            ("reliability_curve", {"strategy": "isotonic", "resamples": 19}),
        ],
    )
    def test_options(self, both, verb, options):
        mapped, plain = (_outcome(getattr(cb, verb), summary, **options) for summary in both)
        assert _plain(mapped) == _plain(plain)

    def test_merging_and_pooling(self, both):
        mapped, plain = both
        assert_same(mapped + mapped, plain + plain)
        assert_same(mapped.at_most(50), plain.at_most(50))


def _outcome(measure, summary, **options):
    """What a verb returns, or the words in which it refuses."""
    try:
        return measure(summary, **options)
    except CalibrantError as problem:
        return str(problem)


def _plain(found):
    """What was found, so that all bits are compared."""
    if hasattr(found, "columns"):
        return found.method, {name: np.asarray(column).tobytes() for name, column in found.columns.items()}
    return repr(found)


class TestResuming:
    @pytest.fixture(autouse=True)
    def no_waiting_for_the_disk(self, monkeypatch):
        monkeypatch.setattr("os.fsync", lambda number: None)

    @pytest.fixture
    def parts(self):
        return list(random_parts(12, 200, decimals=3, weighted=True, kind=TwoColumns))

    @pytest.mark.parametrize("stop", [0, 5, 12])
    @pytest.mark.parametrize("memory", [150, 450, 10**6])
    def test_a_manifest(self, tmp_path, parts, stop, memory):
        folder = tmp_path / "rows"
        runs = added(parts[:stop], folder=folder, memory=memory)
        manifest = json.loads(json.dumps(runs.manifest()))
        for made in parts[stop:]:  # what comes later is lost
            runs.add(made)
        runs.total()
        runs = SortedRuns.resumed(manifest, folder=folder, memory=memory)
        for made in parts[stop:]:
            runs.add(made)
        assert_same(runs.total(), reduce(add, parts))
        remove_runs(folder)
        assert not folder.exists()

    def test_a_manifest_that_was_not_written_down(self, tmp_path, parts):
        runs, manifests = SortedRuns(folder=tmp_path, memory=450), []
        for made in parts:
            runs.add(made)
            manifests.append(runs.manifest())
        runs.total()
        runs = SortedRuns.resumed(manifests[-2], folder=tmp_path, memory=450)
        runs.add(parts[-1])
        assert_same(runs.total(), reduce(add, parts))

    def test_files_do_not_pile_up(self, tmp_path, parts):
        runs = SortedRuns(folder=tmp_path, memory=10**6)
        for made in parts:
            runs.add(made)
            runs.settle([runs.manifest()])
        assert len({path.stem for path in tmp_path.iterdir()}) == 1

    def test_files_that_an_older_manifest_names_stay(self, tmp_path, parts):
        runs = added(parts[:1], folder=tmp_path, memory=450)
        first = runs.manifest()
        for made in parts[1:]:
            runs.add(made)
            last = runs.manifest()
            runs.settle([first, last])
        runs.total()
        for manifest, beside, expected in ((last, [first], reduce(add, parts)), (first, [], parts[0])):
            runs = SortedRuns.resumed(manifest, folder=tmp_path, memory=450, beside=beside)
            assert_same(runs.total(), expected)

    def test_what_is_not_named_is_removed_and_other_files_stay(self, tmp_path, parts):
        runs = added(parts[:1], folder=tmp_path, memory=10)
        manifest = runs.manifest()
        runs.add(parts[1])
        (tmp_path / "notes.txt").write_text("mine")
        (tmp_path / "run-000007.events").write_bytes(b"1")
        SortedRuns.resumed(manifest, folder=tmp_path, memory=10)
        assert {path.stem for path in tmp_path.iterdir()} == {"run-000000", "notes"}
        remove_runs(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]

    def test_refused(self, tmp_path, parts):
        manifest = added(parts[:1], folder=tmp_path, memory=10).manifest()
        with pytest.raises(SummaryError, match="names Grid"):
            SortedRuns.resumed({**manifest, "kind": "Grid"}, folder=tmp_path, memory=10)
        file = tmp_path / "run-000000.score"
        file.write_bytes(file.read_bytes()[:-8])
        with pytest.raises(SummaryError, match=r"run-000000.score has [\d,]+ bytes; expected"):
            SortedRuns.resumed(manifest, folder=tmp_path, memory=10)
        file.unlink()
        with pytest.raises(SummaryError, match=r"run-000000.score is missing; expected"):
            SortedRuns.resumed(manifest, folder=tmp_path, memory=10)


@pytest.mark.parametrize("memory", [1, 10**6])
def test_what_does_not_merge(memory):
    runs = added([Ordered.zero(), part([0.1, 0.2], [0, 1])], memory=memory)
    with pytest.raises(SummaryError, match="scores of type float64 and float32"):
        runs.add(part([0.1], [0], dtype=np.float32))
    with pytest.raises(SummaryError, match="Ordered and TwoColumns"):
        runs.add(part([0.1], [0], kind=TwoColumns))
    assert runs.total().n == 2


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CalibrantError, match=r"cannot write sorted rows to .*file/rows: not a directory"):
        added(random_parts(1, 100), folder=tmp_path / "file" / "rows", memory=10)


FULL = """
import os, resource, tempfile
import numpy as np
from calibrant.errors import CalibrantError
from calibrant.engines.run_files import remove_runs
from calibrant.engines.sorted_runs import SortedRuns
from calibrant import summarize
if {limit}:
    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
tempfile.tempdir = {folder!r}
rng = np.random.default_rng(0)
runs = SortedRuns(memory={memory})
try:
    for _ in range(20):
        p = rng.random(10_000)
        runs.add(summarize("kuiper_test", rng.random(10_000) < p, p))
    runs.total()
except CalibrantError as problem:
    print(problem)
    print(os.listdir({folder!r}))
"""


def run(program, **values):
    command = [sys.executable, "-W", "error", "-c", program.format(**values)]
    # A limit on files would also cut short the modules that Python compiles.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


class TestNoRoom:
    """200,000 rows make 3.2 MB, twice while they are merged."""

    @pytest.mark.skipif(sys.platform == "win32", reason="no limits on files")
    @pytest.mark.parametrize(("limit", "needed"), [(50_000, "320,000"), (1_000_000, "3,200,000")])
    def test_a_file_may_not_grow(self, tmp_path, limit, needed):
        words = run(FULL, folder=str(tmp_path), limit=limit, memory=20_000)
        assert f"cannot write sorted rows to {tmp_path}" in words
        assert f"up to {needed} bytes were needed. Make room there, or name a folder with more by" in words
        assert words.endswith("[]\n")

    @pytest.mark.parametrize(("size", "needed"), [("2m", "320,000"), ("4m", "3,200,000")])
    def test_a_full_disk(self, tmp_path, size, needed):
        mounting = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(tmp_path)]
        try:
            mounted = subprocess.run(mounting, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            mounted = False
        if not mounted:
            pytest.skip("no file system may be mounted here")
        try:
            words = run(FULL, folder=str(tmp_path), limit=0, memory=20_000)
            assert "no space left on device (" in words
            assert f"bytes are free); up to {needed} bytes were needed." in words
            assert words.endswith("[]\n")
        finally:
            subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_memory_does_not_grow_with_the_rows(weighted, monkeypatch):
    monkeypatch.setattr(merge_runs, "MIN_WINDOW_ENTRIES", 32)
    monkeypatch.setattr(sorted_runs, "MAX_MERGED", 8)
    monkeypatch.setattr(sorted_runs, "steps", lambda total, **_: [(0, total)])  # a progress bar takes memory once

    def peak(parts):
        gc.collect()
        tracemalloc.start()
        added(random_parts(parts, 500, weighted=weighted), memory=4096).total()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(20)  # imports and tables that Python makes once
    # Tables of Python that grow by chance are not seen in each of three runs.
    few = min(peak(100) for _ in range(3))
    assert any(peak(1000) < 1.5 * few + 2e6 for _ in range(3))  # the rows of the larger one take 16 MB


def test_progress_is_told(monkeypatch):
    told = []

    def steps(total, *, size, label):
        told.append((total, label))
        return ((start, min(start + size, total)) for start in range(0, total, size))

    monkeypatch.setattr(sorted_runs, "steps", steps)
    added(random_parts(10, 500), memory=1000).total()
    assert told == [(5000, "merging sorted rows")]
