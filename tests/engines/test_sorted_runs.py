"""Sorted runs on disk."""

import json
import os
import subprocess
import sys
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cb
from calibrant.core.catalogue import ENTRIES
from calibrant.core.ordered import TwoColumns
from calibrant.engines import merging as merge_runs
from calibrant.engines import sorted_runs
from calibrant.engines.sorted_runs import SortedRuns
from calibrant.errors import CalibrantError, InputError, SummaryError
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
    monkeypatch.setattr(merge_runs, "LEAST_WINDOW", 2)
    monkeypatch.setattr(sorted_runs, "FAN", 3)


ROWS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 1.0]), st.booleans(), st.sampled_from([1.0, 0.5, 2.0, 3.0])
    ),
    max_size=12,
)


class TestTheTotalIsTheSum:
    @given(
        parts=st.lists(st.tuples(ROWS, st.booleans()), min_size=1, max_size=14),
        memory=st.integers(1, 30),
        kind=st.sampled_from([Ordered, TwoColumns]),
        dtype=st.sampled_from(["float16", "float32", "float64"]),
        weighted=st.booleans(),
    )
    @settings(max_examples=200, deadline=None)
    def test_any_parts(self, parts, memory, kind, dtype, weighted):
        given_parts = []
        for rows, has_weights in parts:
            p, y, w = zip(*rows, strict=True) if rows else ((), (), ())
            made = part(p, y, w if weighted and has_weights else None, kind, dtype) if rows else kind.zero()
            given_parts.append(made)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(merge_runs, "LEAST_WINDOW", 2)
            patched.setattr(sorted_runs, "FAN", 3)
            with SortedRuns(memory=memory) as runs:
                for made in given_parts:
                    runs.add(made)
                found = runs.total()
                assert_same(found, reduce(add, given_parts))
                assert_same(runs.total(), found)

    @pytest.mark.parametrize("decimals", [None, 2, 4])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("memory", [700, 5000, 10**6])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_many_rows(self, decimals, weighted, memory, dtype):
        parts = list(random_parts(40, 500, decimals=decimals, weighted=weighted, dtype=dtype))
        with SortedRuns(memory=memory) as runs:
            for made in parts:
                runs.add(made)
            assert_same(runs.total(), reduce(add, parts))

    @pytest.mark.usefixtures("small_windows")
    def test_one_score_with_more_weights_than_a_window_holds(self):
        w = np.random.default_rng(0).uniform(0.5, 2.0, 300)
        parts = [part(np.full(50, 0.5), np.arange(50) % 2, w[k : k + 50]) for k in range(0, 300, 25) if k + 50 <= 300]
        with SortedRuns(memory=20) as runs:
            for made in parts:
                runs.add(made)
            found = runs.total()
            assert_same(found, reduce(add, parts))
            assert found.score.size == 300

    @pytest.mark.usefixtures("small_windows")
    def test_runs_one_after_another(self):
        parts = [part([k / 100, k / 100 + 0.005], [0, 1]) for k in range(99)]
        with SortedRuns(memory=5) as runs:
            for made in reversed(parts):
                runs.add(made)
            assert_same(runs.total(), reduce(add, parts))

    def test_more_may_follow(self):
        parts = list(random_parts(6, 300, decimals=3))
        with SortedRuns(memory=400) as runs:
            for many, made in enumerate(parts, start=1):
                runs.add(made)
                assert_same(runs.total(), reduce(add, parts[:many]))

    def test_few_different_scores_stay_in_memory(self):
        parts = list(random_parts(200, 1000, decimals=2))
        with SortedRuns(memory=1000) as runs:
            for made in parts:
                runs.add(made)
            assert runs.spilled == 0
            assert_same(runs.total(), reduce(add, parts))

    def test_sizes_larger_than_one(self):
        one = Ordered(np.array([0.5, 3.0, 1e200]), unit_weights(3), np.ones(3, int), np.array([1, 0, 1]), "float64")
        two = Ordered(np.array([1.0, np.inf]), unit_weights(2), np.ones(2, int), np.array([1, 0]), "float64")
        with SortedRuns(memory=1) as runs:
            runs.add(one)
            runs.add(two)
            assert_same(runs.total(), one + two)

    def test_large_counts(self):
        parts = [
            Ordered(np.array([0.25, 0.5]), unit_weights(2), np.array([many, 1]), np.array([many // 2, 1]), "float64")
            for many in (1, 11, 12, 180, 46_000, 10**12)
        ]
        with SortedRuns(memory=1) as runs:
            for many, made in enumerate(parts, start=1):
                runs.add(made)
                assert_same(runs.total(), reduce(add, parts[:many]))


class TestMemoryOnly:
    def test_nothing_is_written(self, tmp_path):
        parts = list(random_parts(5, 100))
        with SortedRuns(tmp_path) as runs:
            for made in parts:
                runs.add(made)
            assert_same(runs.total(), reduce(add, parts))
            assert not list(tmp_path.iterdir())

    def test_no_parts_and_empty_ones(self):
        with SortedRuns() as runs:
            assert_same(runs.total(), Ordered.zero())
            runs.add(TwoColumns.zero())
            assert_same(runs.total(), TwoColumns.zero())


class TestOnDisk:
    def test_the_columns_are_mapped_and_narrow(self, tmp_path):
        with SortedRuns(tmp_path, memory=1000) as runs:
            for made in random_parts(20, 500):
                runs.add(made)
            total = runs.total()
            assert isinstance(total.score, np.memmap)
            assert isinstance(total.events, np.memmap)
            assert total.weight.strides == total.count.strides == (0,)
            assert runs.spilled == 9 * total.score.size == 90_000
            assert sum(path.stat().st_size for path in tmp_path.rglob("run-*")) == 90_000

    def test_scores_of_32_bits(self, tmp_path):
        with SortedRuns(tmp_path, memory=1000) as runs:
            for made in random_parts(20, 500, dtype="float32"):
                runs.add(made)
            assert runs.spilled < 6 * 10_000
            assert runs.total().score.dtype == np.float64

    def test_the_folder_is_removed(self, tmp_path):
        with SortedRuns(tmp_path, memory=10) as runs:
            runs.add(next(random_parts(1, 100)))
            assert len(list(tmp_path.iterdir())) == 1
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
    def test_after_an_error(self, tmp_path, problem):
        def spoilt():
            with SortedRuns(tmp_path, memory=10) as runs:
                runs.add(next(random_parts(1, 100)))
                raise problem

        with pytest.raises(problem):
            spoilt()
        assert not list(tmp_path.iterdir())

    def test_an_interrupt_while_a_run_is_written(self, tmp_path, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        def spoilt():
            with SortedRuns(tmp_path, memory=10, keep=True) as runs:
                runs.add(next(random_parts(1, 100)))
                monkeypatch.setattr(merge_runs, "pool_rows", interrupted)
                runs.add(next(random_parts(1, 100)))
                runs.total()

        with pytest.raises(KeyboardInterrupt):
            spoilt()
        assert {path.name for path in tmp_path.iterdir()} == {
            f"run-00000{k}.{column}" for k in (0, 1) for column in ("score", "events")
        }

    def test_without_with(self, tmp_path):
        runs = SortedRuns(tmp_path, memory=10)
        runs.add(next(random_parts(1, 100)))
        assert list(tmp_path.iterdir())
        del runs
        assert not list(tmp_path.iterdir())

    @pytest.mark.skipif(os.name == "nt", reason="files in use cannot be removed there")
    def test_the_total_outlives_its_folder(self, tmp_path):
        made = next(random_parts(1, 1000))
        with SortedRuns(tmp_path, memory=10) as runs:
            runs.add(made)
            total = runs.total()
        assert_same(total, made)


@pytest.fixture(scope="module", params=["plain", "ties", "weights"])
def both(request):
    """The same rows on disk and in memory."""
    options = {"plain": {}, "ties": {"decimals": 2}, "weights": {"weighted": True, "decimals": 3}}[request.param]
    parts = list(random_parts(8, 400, **options))
    with SortedRuns(memory=50) as runs:
        for made in parts:
            runs.add(made)
        yield runs.total(), reduce(add, parts)


class TestVerbs:
    """What verbs find does not depend on where the rows are."""

    @pytest.mark.parametrize("verb", [name for name, entry in ENTRIES.items() if Ordered in entry.reads])
    def test_every_verb_that_reads_sorted_rows(self, both, verb):
        mapped, plain = both
        measure = getattr(cb, verb)
        assert _plain(_outcome(measure, mapped)) == _plain(_outcome(measure, plain))

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


class TestGoingOn:
    def parts(self):
        return list(random_parts(12, 200, decimals=3, weighted=True, kind=TwoColumns))

    @pytest.mark.parametrize("stop", range(0, 13, 3))
    @pytest.mark.parametrize("memory", [150, 450, 10**6])
    def test_a_manifest(self, tmp_path, stop, memory):
        parts = self.parts()
        with SortedRuns(tmp_path, memory=memory, keep=True) as runs:
            for made in parts[:stop]:
                runs.add(made)
            manifest = json.loads(json.dumps(runs.manifest()))
            for made in parts[stop:]:  # what comes later is lost
                runs.add(made)
            runs.total()
        with SortedRuns.resumed(tmp_path, manifest, memory=memory) as runs:
            for made in parts[stop:]:
                runs.add(made)
            assert_same(runs.total(), reduce(add, parts))
            runs.remove()
        assert not tmp_path.exists()

    def test_a_manifest_that_was_not_written_down(self, tmp_path):
        parts = self.parts()
        with SortedRuns(tmp_path, memory=450, keep=True) as runs:
            manifests = []
            for made in parts:
                runs.add(made)
                manifests.append(runs.manifest())
            runs.total()
        with SortedRuns.resumed(tmp_path, manifests[-2]) as runs:
            runs.add(parts[-1])
            assert_same(runs.total(), reduce(add, parts))

    def test_files_do_not_pile_up(self, tmp_path):
        with SortedRuns(tmp_path, memory=10**6, keep=True) as runs:
            for made in self.parts():
                runs.add(made)
                runs.settle([runs.manifest()])
            assert len({path.stem for path in tmp_path.iterdir()}) == 1

    def test_files_that_an_older_manifest_names_stay(self, tmp_path):
        parts = self.parts()
        with SortedRuns(tmp_path, memory=450, keep=True) as runs:
            runs.add(parts[0])
            first = runs.manifest()
            for made in parts[1:]:
                runs.add(made)
                last = runs.manifest()
                runs.settle([first, last])
            runs.total()
        with SortedRuns.resumed(tmp_path, last, beside=[first]) as runs:
            assert_same(runs.total(), reduce(add, parts))
        with SortedRuns.resumed(tmp_path, first) as runs:
            assert_same(runs.total(), parts[0])

    def test_what_is_not_named_is_removed_and_other_files_stay(self, tmp_path):
        with SortedRuns(tmp_path, memory=10, keep=True) as runs:
            runs.add(self.parts()[0])
            manifest = runs.manifest()
            runs.add(self.parts()[1])
        (tmp_path / "notes.txt").write_text("mine")
        (tmp_path / "run-000007.events.narrow").write_bytes(b"1")
        with SortedRuns.resumed(tmp_path, manifest) as runs:
            assert {path.stem for path in tmp_path.iterdir()} == {"run-000000", "notes"}
            runs.remove()
        assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]

    def test_refused(self, tmp_path):
        with SortedRuns(memory=10) as runs, pytest.raises(InputError, match="is temporary; name one, with keep=True"):
            runs.manifest()
        with pytest.raises(InputError, match="keep=True needs a folder"):
            SortedRuns(keep=True)
        with SortedRuns(tmp_path, memory=10, keep=True) as runs:
            runs.add(self.parts()[0])
            manifest = runs.manifest()
        with pytest.raises(SummaryError, match="format 9; this calibrant reads 1"):
            SortedRuns.resumed(tmp_path, {**manifest, "format": 9})
        with pytest.raises(SummaryError, match="not a manifest of sorted runs"):
            SortedRuns.resumed(tmp_path, {"format": 1})
        with pytest.raises(SummaryError, match="names Grid"):
            SortedRuns.resumed(tmp_path, {**manifest, "kind": "Grid"})
        file = tmp_path / "run-000000.score"
        file.write_bytes(file.read_bytes()[:-8])
        with pytest.raises(SummaryError, match=r"run-000000.score has [\d,]+ bytes; expected"):
            SortedRuns.resumed(tmp_path, manifest)
        file.unlink()
        with pytest.raises(SummaryError, match=r"run-000000.score is missing; expected"):
            SortedRuns.resumed(tmp_path, manifest)


class TestRefused:
    @pytest.mark.parametrize("memory", [1, 10**6])
    def test_what_does_not_merge(self, memory):
        with SortedRuns(memory=memory) as runs:
            runs.add(Ordered.zero())
            runs.add(part([0.1, 0.2], [0, 1]))
            with pytest.raises(SummaryError, match="scores of type float64 and float32"):
                runs.add(part([0.1], [0], dtype=np.float32))
            with pytest.raises(SummaryError, match="Ordered and TwoColumns"):
                runs.add(part([0.1], [0], kind=TwoColumns))
            with pytest.raises(SummaryError, match="of Ordered summaries; got Grid"):
                runs.add(cb.summaries.Grid.zero())
            with pytest.raises(SummaryError, match="fractions of events"):
                runs.add(part([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], [1, 2, 3, 5]).at_most(2))
            assert runs.total().n == 2

    @pytest.mark.parametrize("memory", [0, 1.5, True])
    def test_memory(self, memory):
        with pytest.raises(InputError, match="memory must be"):
            SortedRuns(memory=memory)

    def test_folders(self, tmp_path):
        with pytest.raises(InputError, match=r"there is no folder .*nowhere"):
            SortedRuns(tmp_path / "nowhere")
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match=r"cannot make the folder .*file"):
            SortedRuns(tmp_path / "file", keep=True)

    def test_a_folder_that_may_not_be_written_to(self, tmp_path, as_anyone):
        tmp_path.chmod(0o500)
        work = (
            "import sys; from calibrant.engines.sorted_runs import SortedRuns\n"
            "try: SortedRuns(sys.argv[1])\n"
            "except Exception as problem: print(type(problem).__name__, problem)"
        )
        command = [sys.executable, "-c", work, str(tmp_path)]
        done = subprocess.run(command, preexec_fn=as_anyone, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("InputError you do not have permission to write to the folder")

    def test_a_folder_that_went_away(self, tmp_path):
        folder = tmp_path / "folder"
        folder.mkdir()
        runs = SortedRuns(folder, memory=10)
        folder.rmdir()
        with pytest.raises(CalibrantError, match=r"cannot write sorted rows to .*folder: no such file"):
            runs.add(next(random_parts(1, 100)))

    def test_closed(self):
        with SortedRuns() as runs:
            pass
        for use in (runs.total, lambda: runs.add(Ordered.zero()), runs.manifest):
            with pytest.raises(InputError, match="these sorted runs are closed"):
                use()


FULL = """
import resource, signal, sys
import numpy as np
from calibrant.errors import CalibrantError
from calibrant.engines.sorted_runs import SortedRuns
from calibrant import summarize
if {limit}:
    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
rng = np.random.default_rng(0)
with SortedRuns({folder!r}, memory={memory}) as runs:
    try:
        for _ in range(20):
            p = rng.random(10_000)
            runs.add(summarize("kuiper_test", rng.random(10_000) < p, p))
        runs.total()
    except CalibrantError as problem:
        print(problem)
"""


def run(program, **values):
    command = [sys.executable, "-W", "error", "-c", program.format(**values)]
    # A limit on files would also cut short the modules that Python compiles.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


class TestNoRoom:
    """200,000 rows make 1.8 MB, twice while they are merged."""

    @pytest.mark.skipif(sys.platform == "win32", reason="no limits on files")
    @pytest.mark.parametrize(("limit", "needed"), [(50_000, "180,000"), (500_000, "1,800,000")])
    def test_a_file_may_not_grow(self, tmp_path, limit, needed):
        words = run(FULL, folder=str(tmp_path), limit=limit, memory=20_000)
        assert f"cannot write sorted rows to {tmp_path}" in words
        assert f"up to {needed} bytes were needed. Make room there" in words
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(("size", "needed"), [("1m", "180,000"), ("2m", "1,800,000")])
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
            assert not list(tmp_path.iterdir())
        finally:
            subprocess.run(["umount", str(tmp_path)], check=True)


BOUNDED = """
import tracemalloc
import numpy as np
from calibrant import summarize
from calibrant.engines.sorted_runs import SortedRuns
rng = np.random.default_rng(0)
def batch(n):
    p = rng.random(n)
    return summarize("kuiper_test", rng.random(n) < p, p{weights})
batch(10)
tracemalloc.start()
with SortedRuns({folder!r}, memory=65_536) as runs:
    for _ in range({batches}):
        runs.add(batch(5_000))
    runs.total()
print(tracemalloc.get_traced_memory()[1])
"""


@pytest.mark.parametrize("weights", ["", ", weights=rng.random(n)"])
def test_memory_does_not_grow_with_the_rows(tmp_path, weights):
    few, many = (int(run(BOUNDED, folder=str(tmp_path), batches=batches, weights=weights)) for batches in (100, 1000))
    assert many < 1.2 * few
    assert many < 5_000_000 * 9 / 3  # of the least that the rows would take


def test_progress_is_told(monkeypatch):
    told = []

    def steps(total, *, size, label):
        told.append((total, label))
        return ((start, min(start + size, total)) for start in range(0, total, size))

    monkeypatch.setattr(sorted_runs, "steps", steps)
    with SortedRuns(memory=1000) as runs:
        for made in random_parts(10, 500):
            runs.add(made)
        runs.total()
    assert told == [(5000, "merging sorted rows")]
