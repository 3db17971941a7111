"""A run that was broken off goes on from where it was, and gives the same bits."""

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import contextmanager

import numpy as np
import pytest

from calibrant import ece, kuiper_test, spiegelhalter_test
from calibrant.core import summary as codec
from calibrant.engines.merging import Merging
from calibrant.files import checkpoint as module
from calibrant.files import run_job
from calibrant.files import scan as scanning
from calibrant.files.checkpoint import Checkpoint, described
from calibrant.files.scan import scan

VERBS = (ece, kuiper_test, spiegelhalter_test, "brier_score")


@pytest.fixture(autouse=True)
def often(monkeypatch, small_batches):
    """Write a checkpoint after every second batch, and do not wait for the disk."""
    monkeypatch.setattr("os.fsync", lambda number: None)
    monkeypatch.setattr(run_job, "CHECKPOINT_BATCHES", 2)
    monkeypatch.setattr(run_job, "MAX_CHECKPOINT_SHARE", float("inf"))


@pytest.fixture
def kept(tmp_path):
    return tmp_path / "run.checkpoint"


def run(folder, kept=None, *, verbs=VERBS, **options):
    exact = options.pop("exact", False)
    found = scan(folder, **{"y": "y", "prediction": "p", **options}).measure(verbs, checkpoint=kept, exact=exact)
    return repr(found)


@pytest.fixture
def seen(parts):
    """Return a function that reads a checkpoint without asking whether it fits."""
    return lambda kept: Checkpoint.read(kept, scan(parts, y="y", prediction="p").files)


@pytest.fixture
def stop_after(monkeypatch):
    """Return a function that lets the run end after so many batches."""
    from calibrant.engines.jobs import Measuring

    part = Measuring.part

    def stop(batches, problem):
        seen = iter(range(10**6))

        def counted(self, batch):
            if next(seen) == batches:
                raise problem
            return part(self, batch)

        monkeypatch.setattr(Measuring, "part", counted)

    yield stop
    monkeypatch.setattr(Measuring, "part", part)


@pytest.fixture
def break_off(parts, kept, stop_after):
    """Return a function that breaks a run off after so many batches, nine if not said."""

    def broken(batches=9, problem=KeyboardInterrupt, **options):
        stop_after(batches, problem())
        with pytest.raises(problem):
            run(parts, kept, **options)
        stop_after(-1, None)
        return kept

    return broken


@pytest.mark.parametrize("batches", [0, 1, 2, 5, 8, 19])
@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError], ids=["interrupt", "crash"])
def test_it_goes_on_with_the_same_bits(parts, kept, break_off, monkeypatch, batches, problem):
    whole = run(parts)
    break_off(batches, problem)
    assert kept.exists() == (batches >= (1 if problem is KeyboardInterrupt else 2))
    read = []
    monkeypatch.setattr(run_job, "_rows", lambda piece: read.append(piece) or piece.rows)
    assert run(parts, kept) == whole
    assert not kept.exists()
    assert len(read) <= 20 - batches + (batches % 2)


@pytest.mark.parametrize("options", [{"exact": True}, {"weights": "w", "where": "age > 30"}])
def test_other_runs_go_on_too(parts, kept, break_off, options):
    options["verbs"] = [kuiper_test]
    whole = run(parts, **options)
    assert break_off(**options).exists()
    assert run(parts, kept, **options) == whole


@pytest.fixture
def during(monkeypatch):
    """Return a context in which something happens once, while the second file is read."""

    @contextmanager
    def patched(happen):
        left = [happen]

        def once(piece):
            if piece.file == 1 and left:
                left.pop()()
            return piece.rows

        with monkeypatch.context() as context:
            context.setattr(run_job, "_rows", once)
            yield

    return patched


def test_a_second_run_with_the_same_checkpoint_is_refused(parts, kept, refusal, during):
    """It would write over the total of the first one."""
    whole, messages = run(parts), []
    with during(lambda: messages.append(refusal(run, parts, kept))):
        assert run(parts, kept) == whole
    assert messages == [f"another run is using the checkpoint {kept}; wait until it ends, or name another file"]
    assert not list(kept.parent.glob("run.checkpoint*"))
    assert run(parts, kept) == whole  # the lock is free again


@pytest.mark.parametrize("what", ["rewritten", "removed"])
def test_a_file_that_changes_after_it_was_read(parts, kept, break_off, columns, write, refusal, what, during):
    """It is known by what it was when it was opened."""
    file = sorted(parts.glob("*.parquet"))[0]

    def change():
        file.unlink()
        if what == "rewritten":
            write(file, {**columns, "p": 1 - columns["p"]}, slice(0, 100))

    with during(change):
        break_off(problem=MemoryError)
    words = refusal(run, parts, kept)
    assert f"file 1 of the run, {file if what == 'rewritten' else parts / 'part-1.parquet'}, is another one" in words


def test_a_file_that_changes_during_the_run(parts, kept, columns, write, refusal, during):
    """The result might be of rows of two versions."""
    file = sorted(parts.glob("*.parquet"))[0]
    for place in (None, kept):
        with during(lambda: write(file, {**columns, "p": 1 - columns["p"]}, slice(0, 100))):
            assert refusal(run, parts, place).startswith(f"{file} was changed while the files were measured")
    assert list(kept.parent.iterdir()) == [parts]


def test_audits_go_on_too(parts, kept, monkeypatch, refusal):
    from calibrant.auditing.job import AuditJob

    def audited(place=None):
        return scan(parts, y="y", prediction="p", groups="segment").audit(checkpoint=place).findings.to_dict()

    whole, part, seen = audited(), AuditJob.part, iter(range(100))
    with monkeypatch.context() as patched:
        patched.setattr(AuditJob, "part", lambda self, batch: 1 / 0 if next(seen) == 7 else part(self, batch))
        refusal(audited, kept, error=ZeroDivisionError)
    assert kept.exists()
    assert audited(kept) == whole


def test_an_interrupt_while_the_total_changes(parts, kept, monkeypatch, seen):
    """What is half merged is not kept."""
    whole, add, calls = run(parts), Merging.add, iter(range(100))

    def interrupted(self, part):
        add(self, part)
        if next(calls) == 8:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Merging, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(parts, kept)
    assert seen(kept).now.done == 400
    assert run(parts, kept) == whole


def test_after_an_error_everything_before_the_file_is_kept(parts, kept, columns, write, refusal, seen):
    whole = run(parts)
    bad = columns["p"].copy()
    bad[695] = 7.0
    path = write(parts / "part-7.parquet", {**columns, "p": bad}, slice(600, 700))
    for _ in range(2):
        message = refusal(run, parts, kept)
        assert message.startswith(f"{path}, rows 64 to 99: ")
        advice = f"The 664 rows before are kept in {kept}: fix the file or delete it, and run the same again to resume"
        assert message.endswith(f"{advice} from there")
    write(path, columns, slice(600, 700), row_group_size=37)
    found = seen(kept)
    assert (found.now.done, found.whole.done, found.whole.position) == (664, 600, (7, 0))
    assert run(parts, kept) == whole

    path = parts / "part-7.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    assert "The 600 rows before are kept in" in refusal(run, parts, kept)  # it may be taken away
    path.unlink()
    without = run(parts)
    assert run(parts, kept) == without


@pytest.fixture
def broken_off(break_off):
    """Return the checkpoint of a run that was broken off in its fifth file."""
    return break_off()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"where": "age > 3"}, "where was nothing, and is age > 3 now"),
        ({"weights": "w"}, "weights was None, and is 'w' now"),
        ({"prediction": "a"}, "prediction was 'p', and is 'a' now"),
        ({"verbs": [ece]}, "the verbs was "),
        ({"exact": True}, "exact was False, and is True now"),
    ],
)
def test_other_options(parts, broken_off, refusal, options, words):
    message = refusal(run, parts, broken_off, **options)
    assert message.startswith(f"the checkpoint {broken_off} belongs to another run: {words}")
    assert message.endswith("Delete it to start again, or repeat that run")
    assert broken_off.exists()


def test_another_version_and_another_format(parts, broken_off, refusal, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(scanning, "__version__", "99")
        assert "calibrant was " in refusal(run, parts, broken_off)
    monkeypatch.setattr(module, "FORMAT", 99)
    assert "it was written by another calibrant" in refusal(run, parts, broken_off)


def test_a_file_that_was_read_has_changed(parts, broken_off, refusal):
    words = "file 2 of the run, {}, is another one or has changed since it was read"
    path = parts / "part-1.parquet"
    os.utime(path, ns=(0, 0))
    assert words.format(path) in refusal(run, parts, broken_off)
    path.unlink()
    assert words.format(parts / "part-2.parquet") in refusal(run, parts, broken_off)
    for path in sorted(parts.glob("*.parquet"))[2:]:
        path.unlink()
    assert "it has read 5 files, and there are 2 now" in refusal(run, parts, broken_off)


@pytest.mark.parametrize("changed", [("part-9", "part-11"), ("part-5",)], ids=["not read yet", "being read"])
def test_files_that_were_not_read_as_a_whole_may_change(parts, broken_off, columns, write, seen, changed):
    assert seen(broken_off).now.position == (5, 64)
    for name in changed:
        write(parts / f"{name}.parquet", columns, slice(0, 150))
    whole = run(parts)
    assert run(parts, broken_off) == whole


def test_what_columns_hold_is_remembered(parts, broken_off, columns, write, refusal):
    write(parts / "part-9.parquet", {**columns, "p": columns["p"].astype(np.float32)}, slice(0, 50))
    assert "part-9.parquet contains numbers of 32 bits, but of 64 bits in" in refusal(run, parts, broken_off)


def test_an_undisturbed_run_leaves_nothing_and_needs_a_folder(parts, kept, tmp_path, refusal):
    assert run(parts, kept) == run(parts)
    assert list(kept.parent.iterdir()) == [parts]
    assert "to keep the checkpoint x in" in refusal(run, parts, tmp_path / "nowhere" / "x")


def test_a_full_disk_costs_the_checkpoint_and_not_the_run(parts, broken_off, monkeypatch):
    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    whole, before = run(parts), broken_off.read_bytes()
    seen = []
    monkeypatch.setattr("os.fsync", full)
    monkeypatch.setattr(run_job, "_rows", lambda piece: seen.append(broken_off.read_bytes()) or piece.rows)
    with pytest.warns(RuntimeWarning, match="the checkpoint was not written: cannot write .*: no space left") as told:
        assert run(parts, broken_off) == whole
    assert len(told) == 1
    assert str(told[0].message).endswith("The run continues, and would resume from the checkpoint before")
    assert set(seen) == {before}
    assert list(broken_off.parent.iterdir()) == [parts]


def edited(**changes):
    """Return a function that changes values of a checkpoint, and leaves the checksum of the file right."""

    def change(content):
        name, values = codec.decode(content)
        return codec.encode(name, {**values, **{key: change(values[key]) for key, change in changes.items()}})

    return change


def about(**changes):
    return edited(about=lambda text: json.dumps({**json.loads(text), **changes}))


def flipped(content, place):
    return content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "foreign": lambda content: b"hello",
    "cut": lambda content: content[:-4],
    "another summary": lambda content: codec.decode(content)[1]["summaries"][0],
    "no totals": about(totals=[]),
    "other options": about(asked={}),
    "no text": edited(about=lambda text: 7),
    "other summaries": edited(summaries=lambda all: (*all[1:], all[0])),
    "fewer summaries": edited(summaries=lambda all: all[1:]),
    **{f"byte {k} flipped": lambda content, k=k: flipped(content, k * len(content) // 10) for k in range(10)},
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_what_was_changed_is_refused(parts, broken_off, refusal, change):
    content = broken_off.read_bytes()
    broken_off.write_bytes(change(content))
    assert broken_off.read_bytes() != content
    message = refusal(run, parts, broken_off)
    assert message.startswith(f"{broken_off} cannot be read as a checkpoint: ")
    assert message.endswith("Delete it if it is one, else name another file")


def test_what_is_written(parts, broken_off):
    assert str(parts).encode() not in broken_off.read_bytes()  # no file is named
    assert b"part-1" not in broken_off.read_bytes()
    assert described(np.random.default_rng(3)) == described(np.random.default_rng(3))
    assert described(np.random.default_rng(3)) != described(np.random.default_rng(4))
    verb = "calibrant.probabilities.binned_errors.ece"
    assert described({"a": [1, (2.5, "x")], "f": ece}) == f"{{a: [1, [2.5, 'x']], f: {verb}}}"
    assert described(np.arange(2)) == "array [0, 1]"


SLOW = """
    import sys, time
    from calibrant.engines.jobs import Measuring
    from calibrant.files import reading, run_job
    from calibrant.files.scan import scan
    reading.BATCH, run_job.CHECKPOINT_BATCHES, run_job.MAX_CHECKPOINT_SHARE = 64, int(sys.argv[3]), float("inf")
    part = Measuring.part
    Measuring.part = lambda self, batch: (print("batch", flush=True), time.sleep(0.1), part(self, batch))[2]
    scan(sys.argv[1], y="y", prediction="p").measure("kuiper_test", exact=True, checkpoint=sys.argv[2])
"""


@pytest.mark.parametrize(
    ("number", "code", "batches"), [(signal.SIGKILL, -signal.SIGKILL, 1), (signal.SIGTERM, 143, 10**6)]
)
def test_a_run_that_is_ended_goes_on(parts, kept, seen, number, code, batches):
    """A killed one has the last regular checkpoint; one that is asked to end writes a last one."""
    command = [sys.executable, "-c", textwrap.dedent(SLOW), str(parts), str(kept), str(batches)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # it may be killed while it writes
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for _ in range(6):
            assert process.stdout.readline() == b"batch\n"
        process.send_signal(number)
        process.wait(60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == code
    assert 0 < seen(kept).now.done < 1000
    options = {"verbs": ["kuiper_test"], "exact": True}
    assert run(parts, kept, **options) == run(parts, **options)
    assert list(kept.parent.iterdir()) == [parts]
