"""A run that was broken off goes on from where it was, and gives the same bits."""

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

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
from calibrant.report.files import replace_bytes

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


@pytest.mark.parametrize("exact", [False, True])
def test_a_second_run_with_the_same_checkpoint_is_refused(parts, kept, refusal, exact):
    """It would write over the total of the first one."""
    whole, messages = run(parts, verbs=[kuiper_test], exact=exact), []

    def meanwhile(piece):
        if not messages:
            messages.append(refusal(run, parts, kept, verbs=[kuiper_test], exact=exact))
        return piece.rows

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run_job, "_rows", meanwhile)
        assert run(parts, kept, verbs=[kuiper_test], exact=exact) == whole
    assert messages == [f"another run is using the checkpoint {kept}; wait until it ends, or name another file"]
    assert not list(kept.parent.glob("run.checkpoint*"))
    assert run(parts, kept, verbs=[kuiper_test], exact=exact) == whole  # the lock is free again


@pytest.mark.parametrize("what", ["rewritten", "removed"])
def test_a_file_that_changes_after_it_was_read(parts, kept, break_off, columns, write, refusal, what):
    """It is known by what it was when it was opened."""
    file, seen = sorted(parts.glob("*.parquet"))[0], []

    def change(piece):
        if piece.file == 1 and not seen:
            seen.append(piece)
            file.unlink()
            if what == "rewritten":
                write(file, {**columns, "p": 1 - columns["p"]}, slice(0, 100))
        return piece.rows

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run_job, "_rows", change)
        break_off(problem=MemoryError)
    words = refusal(run, parts, kept)
    assert f"file 1 of the run, {file if what == 'rewritten' else parts / 'part-1.parquet'}, is another one" in words


def test_many_small_files_are_kept_too(tmp_path, kept, columns, write, monkeypatch):
    """What it costs to remember the total before each file does not put off writing it down for ever."""
    monkeypatch.setattr(run_job, "MAX_CHECKPOINT_SHARE", 0.05)
    for k in range(30):
        write(tmp_path / "many" / f"{k:02}.parquet", columns, slice(20 * k, 20 * k + 20))
    written, write_down = [], Checkpoint.write

    def noted(checkpoint, *given):
        written.append(checkpoint.now.position.file)
        write_down(checkpoint, *given)

    monkeypatch.setattr(Checkpoint, "write", noted)
    monkeypatch.setattr(run_job, "_rows", lambda piece: time.sleep(0.02) or piece.rows)
    run(tmp_path / "many", kept)
    assert len(written) >= 2


def test_audits_go_on_too(parts, kept, monkeypatch):
    from calibrant.auditing.job import AuditJob

    def audited(place=None):
        return scan(parts, y="y", prediction="p", groups="segment").audit(checkpoint=place).findings.to_dict()

    whole, part, seen = audited(), AuditJob.part, iter(range(100))
    with monkeypatch.context() as patched:
        patched.setattr(AuditJob, "part", lambda self, batch: 1 / 0 if next(seen) == 7 else part(self, batch))
        with pytest.raises(ZeroDivisionError):
            audited(kept)
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


def test_an_undisturbed_run_leaves_nothing(parts, kept):
    assert run(parts, kept) == run(parts)
    assert list(kept.parent.iterdir()) == [parts]


def test_after_an_error_everything_before_the_file_is_kept(parts, kept, columns, write, refusal, seen):
    whole = run(parts)
    bad = columns["p"].copy()
    bad[695] = 7.0
    path = write(parts / "part-7.parquet", {**columns, "p": bad}, slice(600, 700))
    message = refusal(run, parts, kept)
    assert message.startswith(f"{path}, rows 64 to 99: ")
    assert message.endswith(
        f"The 664 rows before are kept in {kept}: fix the file or delete it, and run the same again to resume from "
        "there"
    )
    assert refusal(run, parts, kept).startswith(f"{path}, rows 64 to 99: ")
    write(path, columns, slice(600, 700), row_group_size=37)
    found = seen(kept)
    assert (found.now.done, found.whole.done, found.whole.position) == (664, 600, (7, 0))
    assert run(parts, kept) == whole


def test_a_file_that_cannot_be_read_may_be_taken_away(parts, kept, refusal):
    path = parts / "part-7.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    assert "The 600 rows before are kept in" in refusal(run, parts, kept)
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


def test_another_version(parts, broken_off, refusal, monkeypatch):
    monkeypatch.setattr(scanning, "__version__", "99")
    assert "calibrant was " in refusal(run, parts, broken_off)


def test_a_file_that_was_read_has_changed(parts, broken_off, refusal):
    path = parts / "part-1.parquet"
    os.utime(path, ns=(0, 0))
    words = f"file 2 of the run, {path}, is another one or has changed since it was read"
    assert words in refusal(run, parts, broken_off)
    path.unlink()
    words = f"file 2 of the run, {parts / 'part-2.parquet'}, is another one or has changed since it was read"
    assert words in refusal(run, parts, broken_off)
    for path in sorted(parts.glob("*.parquet"))[2:]:
        path.unlink()
    assert "it has read 5 files, and there are 2 now" in refusal(run, parts, broken_off)


def test_the_batch_that_was_read_last_is_compared(parts, kept, break_off, columns, write, monkeypatch, refusal):
    """A file can be rewritten with the same size, within the grain of its time."""
    for name in ("checkpoint", "reading", "run_job"):
        monkeypatch.setattr(f"calibrant.files.{name}.stamp_of", lambda path: "the same")
    break_off()
    for changed, rows in (({**columns, "p": 1 - columns["p"]}, slice(400, 500)), (columns, slice(400, 450))):
        write(parts / "part-5.parquet", changed, rows)
        assert refusal(run, parts, kept).endswith(
            "the rows before row 64 of its last file are other ones. Delete it to start again, or repeat that run"
        )
    write(parts / "part-5.parquet", columns, slice(400, 500))
    assert run(parts, kept) == run(parts)


def test_files_that_were_not_read_may_change(parts, broken_off, columns, write):
    write(parts / "part-9.parquet", columns, slice(0, 50))
    write(parts / "part-11.parquet", columns, slice(0, 150))
    whole = run(parts)
    assert run(parts, broken_off) == whole


def test_the_file_that_was_being_read_may_change_too(parts, broken_off, columns, write, seen):
    write(parts / f"part-{seen(broken_off).now.position.file}.parquet", columns, slice(0, 150))
    whole = run(parts)
    assert run(parts, broken_off) == whole


def test_what_columns_hold_is_remembered(parts, broken_off, columns, write, refusal):
    write(parts / "part-9.parquet", {**columns, "p": columns["p"].astype(np.float32)}, slice(0, 50))
    assert "part-9.parquet contains numbers of 32 bits, but of 64 bits in" in refusal(run, parts, broken_off)


def test_no_folder(parts, tmp_path, refusal):
    assert "to keep the checkpoint x in" in refusal(run, parts, tmp_path / "nowhere" / "x")


@pytest.fixture
def full_disk(monkeypatch):
    """Let nothing be written durably, until `undo` is called."""

    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        yield patched


def test_a_full_disk_costs_the_checkpoint_and_not_the_run(parts, broken_off, request):
    whole, before = run(parts), broken_off.read_bytes()
    seen = []
    request.getfixturevalue("full_disk").setattr(
        run_job, "_rows", lambda piece: seen.append(broken_off.read_bytes()) or piece.rows
    )
    with pytest.warns(RuntimeWarning, match="the checkpoint was not written: cannot write .*: no space left") as told:
        assert run(parts, broken_off) == whole
    assert len(told) == 1
    assert str(told[0].message).endswith("The run continues, and would resume from the checkpoint before")
    assert set(seen) == {before}
    assert list(broken_off.parent.iterdir()) == [parts]


@pytest.mark.parametrize("first", [True, False], ids=["before its first checkpoint", "after a checkpoint"])
def test_temporary_files_that_a_killed_run_left_are_removed(parts, kept, break_off, monkeypatch, first):
    """Those of other files stay: another process may be writing them."""
    with monkeypatch.context() as patched:  # as if the process ended there
        patched.setattr(Path, "replace", lambda path, target: None)
        replace_bytes(kept, b"half a checkpoint")
        replace_bytes(kept.with_name("report.html"), b"half a report")
    temporary = {path.read_bytes(): path for path in kept.parent.iterdir() if path != parts}
    stale, other = temporary[b"half a checkpoint"], temporary[b"half a report"]
    if not first:
        break_off()
        stale.write_bytes(b"half a checkpoint")
    assert run(parts, kept) == run(parts)
    assert set(kept.parent.iterdir()) == {parts, other}


@pytest.mark.parametrize("kind", ["fifo", "folder", "/dev/zero"])
def test_a_checkpoint_must_be_a_regular_file(parts, kept, refusal, kind):
    if kind == "fifo":
        os.mkfifo(kept)
    elif kind == "folder":
        kept.mkdir()
    else:
        kept.symlink_to(kind)
    assert refusal(run, parts, kept) == f"the checkpoint {kept} is not a regular file; name another file"


def test_a_file_that_changes_during_the_run(parts, kept, columns, write, refusal):
    """The result might be of rows of two versions."""
    file, seen = sorted(parts.glob("*.parquet"))[0], []

    def change(piece):
        if piece.file == 1 and not seen:
            seen.append(piece)
            write(file, {**columns, "p": 1 - columns["p"]}, slice(0, 100))
        return piece.rows

    for place in (None, kept):
        seen.clear()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(run_job, "_rows", change)
            assert refusal(run, parts, place).startswith(f"{file} was changed while the files were measured")
    assert list(kept.parent.iterdir()) == [parts]
    run(parts, kept)


def edited(**changes):
    """Return a function that changes values of a checkpoint, or of another summary, and leaves the checksum right."""

    def change(content):
        name, values = codec.decode(content)
        return codec.encode(name, {**values, **{key: change(values[key]) for key, change in changes.items()}})

    return change


def first(change):
    return edited(summaries=lambda all: (change(all[0]), *all[1:]))


def about(**changes):
    return edited(about=lambda text: json.dumps({**json.loads(text), **changes}))


huge = edited(sums=lambda sums: np.full_like(sums, 1e308))
DAMAGE = {
    "empty": lambda content: b"",
    "foreign": lambda content: b"hello",
    "cut": lambda content: content[:-4],
    "cut short": lambda content: content[:99],
    "another summary": lambda content: codec.decode(content)[1]["summaries"][0],
    "fewer rows": about(totals=[[[4, 63], 363, 0, [4, 2]], [[4, 0], 300, 0, [4]]]),
    "no totals": about(totals=[]),
    "no rows": about(totals=[[[0, 0], 0, 0, []], [[0, 0], 0, 0, []]]),
    "other options": about(asked={}),
    "other columns": about(known={}),
    "no text": edited(about=lambda text: 7),
    "no names": first(edited(names=lambda names: ())),
    "no parts": first(edited(parts=lambda parts: ())),
    "huge sums": first(edited(parts=lambda parts: tuple(map(huge, parts)))),
    "fewer summaries": edited(summaries=lambda all: all[1:]),
    "no summaries": edited(summaries=lambda all: ()),
    **{f"byte {k} flipped": lambda content, k=k: flipped(content, k * len(content) // 10) for k in range(10)},
}


def flipped(content, place):
    return content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_what_was_changed_is_refused(parts, broken_off, refusal, change):
    content = broken_off.read_bytes()
    broken_off.write_bytes(change(content))
    assert broken_off.read_bytes() != content
    message = refusal(run, parts, broken_off)
    assert message.startswith(f"{broken_off} cannot be read as a checkpoint: ")
    assert message.endswith("If it is one, delete it to start again; else name another file")


@pytest.mark.parametrize(("rows", "fits"), [(63, True), (100, False), (10**9, False)])
def test_another_position_does_not_change_the_result(parts, broken_off, refusal, rows, fits):
    """Even if the digest is right: rows are counted by the data, in whole batches."""
    whole = run(parts)
    name, values = codec.decode(broken_off.read_bytes())
    told = json.loads(values["about"])
    told["totals"][0][0][1] = rows
    text = json.dumps(told)
    digest = module._digest(text, values["summaries"])
    broken_off.write_bytes(codec.encode(name, {**values, "about": text, "digest": digest}))
    if fits:
        assert run(parts, broken_off) == whole
    else:
        assert f"the rows before row {rows:,} of its last file are other ones" in refusal(run, parts, broken_off)


def test_no_file_is_named(parts, broken_off):
    assert str(parts).encode() not in broken_off.read_bytes()
    assert b"part-1" not in broken_off.read_bytes()


def test_options_as_text():
    assert described(np.random.default_rng(3)) == described(np.random.default_rng(3))
    assert described(np.random.default_rng(3)) != described(np.random.default_rng(4))
    assert (
        described({"a": [1, (2.5, "x")], "f": ece})
        == "{a: [1, [2.5, 'x']], f: calibrant.probabilities.binned_errors.ece}"
    )
    assert described(np.arange(2)) == "array [0, 1]"


def test_a_checkpoint_of_another_format(parts, break_off, monkeypatch, refusal):
    with monkeypatch.context() as patched:
        patched.setattr(module, "FORMAT", 99)
        kept = break_off()
    assert "it was written by another calibrant" in refusal(run, parts, kept)


KILLED = """
    import sys, time
    from calibrant.engines.jobs import Measuring
    from calibrant.files import reading, run_job
    from calibrant.files.scan import scan
    reading.BATCH, run_job.CHECKPOINT_BATCHES, run_job.MAX_CHECKPOINT_SHARE = 64, 1, float("inf")
    part = Measuring.part
    Measuring.part = lambda self, batch: (time.sleep(0.1), part(self, batch))[1]
    verbs = ["ece", "kuiper_test", "spiegelhalter_test", "brier_score"]
    scan(sys.argv[1], y="y", prediction="p").measure(verbs, checkpoint=sys.argv[2])
"""


def ended_by(number, command, kept):
    """Start a run, and end it by a signal soon after its first checkpoint."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # it may be killed while it writes
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + 100
        while not kept.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.35)
        process.send_signal(number)
        process.wait(60)
    finally:
        process.kill()
        errors = process.communicate()[1]
    return process.returncode, errors.decode()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 143)])
def test_killed(parts, kept, seen, number, code):
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(parts), str(kept)]
    ended, errors = ended_by(number, command, kept)
    assert ended == code, errors
    assert 0 < seen(kept).now.done < 1000
    assert run(parts, kept) == run(parts)
    assert list(kept.parent.iterdir()) == [parts]


TERMINATED = """
    import sys, time
    from calibrant.engines.jobs import Measuring
    from calibrant.files import reading, run_job
    from calibrant.files.scan import scan
    reading.BATCH, run_job.CHECKPOINT_BATCHES = 64, 10**6  # as if checkpoints were rare
    part = Measuring.part
    Measuring.part = lambda self, batch: (print("batch", flush=True), time.sleep(0.1), part(self, batch))[2]
    scan(sys.argv[1], y="y", prediction="p").measure("kuiper_test", exact=True, checkpoint=sys.argv[2])
"""


def test_a_run_that_is_terminated_leaves_a_last_checkpoint(parts, kept, seen):
    command = [sys.executable, "-c", textwrap.dedent(TERMINATED), str(parts), str(kept)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for _ in range(6):
            assert process.stdout.readline() == b"batch\n"
        process.terminate()
        process.wait(60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 143
    assert seen(kept).now.done > 0
    assert run(parts, verbs=["kuiper_test"], exact=True) == run(parts, kept, verbs=["kuiper_test"], exact=True)
    assert list(kept.parent.iterdir()) == [parts]
