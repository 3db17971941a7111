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
from calibrant.errors import CalibrantError
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


@pytest.fixture
def little_memory(monkeypatch):
    """Let sorted rows go to disk early."""
    from calibrant.engines import totals

    monkeypatch.setattr(totals, "MEMORY", 50)


def run(folder, kept=None, *, verbs=VERBS, **options):
    exact = options.pop("exact", False)
    found = scan(folder, **{"y": "y", "prediction": "p", **options}).measure(verbs, checkpoint=kept, exact=exact)
    return repr(found)


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


@pytest.mark.parametrize("batches", [0, 1, 2, 5, 8, 19])
@pytest.mark.parametrize("problem", [KeyboardInterrupt(), MemoryError()], ids=["interrupt", "crash"])
def test_it_goes_on_with_the_same_bits(parts, kept, stop_after, monkeypatch, batches, problem):
    whole = run(parts)
    with monkeypatch.context():
        stop_after(batches, problem)
        with pytest.raises(type(problem)):
            run(parts, kept)
    stop_after(-1, None)
    assert kept.exists() == (batches >= (1 if isinstance(problem, KeyboardInterrupt) else 2))
    read = []
    monkeypatch.setattr(run_job, "_rows", lambda piece: read.append(piece) or piece.rows)
    assert run(parts, kept) == whole
    assert not kept.exists()
    assert len(read) <= 20 - batches + (batches % 2)


@pytest.mark.parametrize("options", [{"exact": True}, {"weights": "w", "where": "age > 30"}])
def test_other_runs_go_on_too(parts, kept, stop_after, options):
    whole = run(parts, verbs=[kuiper_test], **options)
    stop_after(9, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run(parts, kept, verbs=[kuiper_test], **options)
    stop_after(-1, None)
    assert kept.exists()
    assert run(parts, kept, verbs=[kuiper_test], **options) == whole


def test_exact_rows_are_on_disk_beside_the_checkpoint(parts, kept, stop_after, little_memory):
    whole = run(parts, verbs=[kuiper_test], exact=True)
    for batches in (9, 4):
        stop_after(batches, MemoryError())  # nothing is written at the end
        with pytest.raises(MemoryError):
            run(parts, kept, verbs=[kuiper_test], exact=True)
        stop_after(-1, None)
    assert kept.stat().st_size < 8000
    assert list(kept.parent.glob("run.checkpoint.*.rows/**/run-*.score"))
    assert run(parts, kept, verbs=[kuiper_test], exact=True) == whole
    assert list(kept.parent.iterdir()) == [parts]


def test_exact_rows_of_whole_files_stay_when_the_next_one_is_repaired(
    parts, kept, stop_after, little_memory, monkeypatch
):
    whole = run(parts, verbs=[kuiper_test], exact=True)
    stop_after(10, MemoryError())
    with pytest.raises(MemoryError):
        run(parts, kept, verbs=[kuiper_test], exact=True)
    stop_after(-1, None)
    stamps = Checkpoint.read(kept).files
    os.utime(stamps[-1].path)
    read = []
    monkeypatch.setattr(run_job, "_rows", lambda piece: read.append(piece) or piece.rows)
    assert run(parts, kept, verbs=[kuiper_test], exact=True) == whole
    assert len(read) <= 12


@pytest.mark.parametrize("exact", [False, True])
def test_a_second_run_with_the_same_checkpoint_is_refused(parts, kept, little_memory, refusal, exact):
    """It would write over the total, and remove the sorted rows, of the first one."""
    whole, messages = run(parts, verbs=[kuiper_test], exact=exact), []

    def meanwhile(piece):
        if not messages:
            messages.append(refusal(run, parts, kept, verbs=[kuiper_test], exact=exact))
        return piece.rows

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run_job, "_rows", meanwhile)
        assert run(parts, kept, verbs=[kuiper_test], exact=exact) == whole
    assert messages == [f"another run is using the checkpoint {kept}; wait until it ends, or name another checkpoint"]
    assert not list(kept.parent.glob("run.checkpoint*"))
    assert run(parts, kept, verbs=[kuiper_test], exact=exact) == whole  # the lock is free again


@pytest.mark.parametrize("what", ["rewritten", "removed"])
def test_a_file_that_changes_after_it_was_read(parts, kept, stop_after, columns, write, refusal, what):
    """It is known by what it was when it was opened."""
    file, seen = sorted(parts.glob("*.parquet"))[0], []

    def change(piece):
        if piece.file == 1 and not seen:
            seen.append(piece)
            file.unlink()
            if what == "rewritten":
                write(file, {**columns, "p": 1 - columns["p"]}, slice(0, 100))
        return piece.rows

    stop_after(9, MemoryError())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run_job, "_rows", change)
        with pytest.raises(MemoryError):
            run(parts, kept)
    stop_after(-1, None)
    words = refusal(run, parts, kept)
    assert "has changed since it was read" in words if what == "rewritten" else f"it has read {file}" in words


def test_many_small_files_are_kept_too(tmp_path, kept, columns, write, monkeypatch):
    """What it costs to remember the total before each file does not put off writing it down for ever."""
    monkeypatch.setattr(run_job, "MAX_CHECKPOINT_SHARE", 0.05)
    for k in range(30):
        write(tmp_path / "many" / f"{k:02}.parquet", columns, slice(20 * k, 20 * k + 20))
    written, write_down = [], Checkpoint.write

    def noted(checkpoint, path):
        written.append(checkpoint.now.files)
        write_down(checkpoint, path)

    monkeypatch.setattr(Checkpoint, "write", noted)
    monkeypatch.setattr(run_job, "_rows", lambda piece: time.sleep(0.02) or piece.rows)
    run(tmp_path / "many", kept)
    assert len(written) >= 2


def test_audits_go_on_too(parts, kept, monkeypatch):
    from calibrant.auditing.batches import AuditJob

    def audited(place=None):
        return scan(parts, y="y", prediction="p", groups="segment").audit(checkpoint=place).findings.to_dict()

    whole, part, seen = audited(), AuditJob.part, iter(range(100))
    with monkeypatch.context() as patched:
        patched.setattr(AuditJob, "part", lambda self, batch: 1 / 0 if next(seen) == 7 else part(self, batch))
        with pytest.raises(ZeroDivisionError):
            audited(kept)
    assert kept.exists()
    assert audited(kept) == whole


def test_an_interrupt_while_the_total_changes(parts, kept, monkeypatch):
    """What is half merged is not kept."""
    from calibrant.engines.totals import Running

    whole, add, seen = run(parts), Running.add, iter(range(100))

    def interrupted(self, part):
        add(self, part)
        if next(seen) == 8:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Running, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(parts, kept)
    assert Checkpoint.read(kept).now.done == 400
    assert run(parts, kept) == whole


def test_an_undisturbed_run_leaves_nothing(parts, kept):
    assert run(parts, kept) == run(parts)
    assert list(kept.parent.iterdir()) == [parts]


def test_after_an_error_everything_before_the_file_is_kept(parts, kept, columns, write, refusal):
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
    seen = Checkpoint.read(kept)
    assert (seen.now.done, seen.whole.done, seen.whole.files) == (664, 600, 7)
    assert run(parts, kept) == whole


def test_a_file_that_cannot_be_read_may_be_taken_away(parts, kept, refusal):
    path = parts / "part-7.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    assert "The 600 rows before are kept in" in refusal(run, parts, kept)
    path.unlink()
    without = run(parts)
    assert run(parts, kept) == without


@pytest.fixture
def broken_off(parts, kept, stop_after):
    """Return the checkpoint of a run that was broken off in its fifth file."""
    stop_after(9, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run(parts, kept)
    stop_after(-1, None)
    return kept


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
    assert f"{path} has changed since it was read" in refusal(run, parts, broken_off)
    path.unlink()
    assert f"it has read {path}, and {parts / 'part-2.parquet'} is in its place" in refusal(run, parts, broken_off)


def test_files_that_were_not_read_may_change(parts, broken_off, columns, write):
    write(parts / "part-9.parquet", columns, slice(0, 50))
    write(parts / "part-11.parquet", columns, slice(0, 150))
    whole = run(parts)
    assert run(parts, broken_off) == whole


def test_the_file_that_was_being_read_may_change_too(parts, broken_off, columns, write):
    seen = Checkpoint.read(broken_off)
    write(parts / f"part-{seen.now.files}.parquet", columns, slice(0, 150))
    whole = run(parts)
    assert run(parts, broken_off) == whole


def test_what_columns_hold_is_remembered(parts, broken_off, columns, write, refusal):
    write(parts / "part-9.parquet", {**columns, "p": columns["p"].astype(np.float32)}, slice(0, 50))
    assert "part-9.parquet contains numbers of 32 bits, but of 64 bits in" in refusal(run, parts, broken_off)


@pytest.mark.parametrize(
    "damage", [lambda text: b"", lambda text: b"hello", lambda text: text[:-4], lambda text: text[:99]]
)
def test_damage(parts, broken_off, refusal, damage):
    broken_off.write_bytes(damage(broken_off.read_bytes()))
    message = refusal(run, parts, broken_off)
    assert message.startswith(f"{broken_off} cannot be read as a checkpoint: ")
    assert message.endswith("If it is one, delete it to start again; else name another file")


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


@pytest.mark.parametrize("memory", [50, 10**6])
def test_exact_rows_on_a_full_disk_leave_nothing_behind(parts, kept, monkeypatch, full_disk, refusal, memory):
    """Rows that need the disk end the run; rows that are in memory lose their checkpoint only."""
    from calibrant.engines import totals

    monkeypatch.setattr(totals, "MEMORY", memory)
    if memory == 50:
        words = refusal(run, parts, kept, verbs=[kuiper_test], exact=True, error=CalibrantError)
        assert "cannot write sorted rows" in words
    else:
        with pytest.warns(RuntimeWarning, match="cannot write sorted rows.*resume from the start"):
            found = run(parts, kept, verbs=[kuiper_test], exact=True)
        assert found == run(parts, verbs=[kuiper_test], exact=True)
    assert list(kept.parent.iterdir()) == [parts]


def test_rows_that_a_killed_run_left_are_removed(parts, kept):
    """Only folders that a run can have made are, and only runs in them."""
    orphan, other = (kept.with_name(f"run.checkpoint.{name}.rows") for name in ("0123abcd", "mine"))
    for folder in (orphan / "0", other):
        folder.mkdir(parents=True)
        (folder / "run-000000.score").write_bytes(b"rows")
    assert run(parts, kept) == run(parts)
    assert not orphan.exists()
    assert (other / "run-000000.score").exists()


@pytest.mark.parametrize("first", [True, False], ids=["before its first checkpoint", "after a checkpoint"])
def test_temporary_files_that_a_killed_run_left_are_removed(parts, kept, stop_after, monkeypatch, first):
    """Those of other files stay: another process may be writing them."""
    with monkeypatch.context() as patched:  # as if the process ended there
        patched.setattr(Path, "replace", lambda path, target: None)
        replace_bytes(kept, b"half a checkpoint")
        replace_bytes(kept.with_name("report.html"), b"half a report")
    temporary = {path.read_bytes(): path for path in kept.parent.iterdir() if path != parts}
    stale, other = temporary[b"half a checkpoint"], temporary[b"half a report"]
    if not first:
        stop_after(9, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            run(parts, kept)
        stop_after(-1, None)
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


def nested(content):
    return module.Kept(0, 0, content)


@pytest.fixture
def crafted(parts, kept, stop_after, little_memory):
    """Return a function that changes a checkpoint of sorted rows, its checksums being right."""
    stop_after(9, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run(parts, kept, verbs=[kuiper_test], exact=True)
    stop_after(-1, None)

    def change(change_about=None, change_state=None):
        name, values = codec.decode(kept.read_bytes())
        about, states = json.loads(values["about"]), []
        if change_about:
            change_about(about)
        for state in values["states"]:
            inner, held = codec.decode(state)
            total = json.loads(held["about"])
            if change_state and total["sorted"]:
                change_state(total)
            summaries = tuple(nested(summary) for summary in held["summaries"])
            states.append(nested(codec.encode(inner, {"about": json.dumps(total), "summaries": summaries})))
        kept.write_bytes(codec.encode(name, {"about": json.dumps(about), "states": tuple(states)}))

    return change


ABOUT = {
    "a folder above": {"folder": ".."},
    "a folder elsewhere": {"folder": "/tmp/x.01234567.rows"},
    "a folder inside another": {"folder": "x/y.01234567.rows"},
    "a folder that is a number": {"folder": 7},
    "files before the first": {"now": [-1, 0]},
    "rows before the first": {"rows": -5},
    "more rows of a file than of all": {"rows": 10**9},
    "whole files that were not read": {"whole": [99, 0]},
    "truth values for numbers": {"now": [True, True]},
    "no number": {"rows": "7"},
}


@pytest.mark.parametrize("change", ABOUT.values(), ids=ABOUT)
def test_crafted_names_and_numbers(parts, kept, crafted, refusal, change):
    crafted(lambda about: about.update(change))
    before = sorted(kept.parent.rglob("*"))
    assert refusal(run, parts, kept, verbs=[kuiper_test], exact=True).startswith(f"{kept} cannot be read as a check")
    assert sorted(kept.parent.rglob("*")) == before


def test_crafted_runs(parts, kept, crafted, refusal, tmp_path):
    """Nothing outside of its folder is read or removed, and no memory is asked for that the files do not fill."""
    whole, content = run(parts, verbs=[kuiper_test], exact=True), kept.read_bytes()
    victim = tmp_path / "victim.score"
    victim.write_bytes(bytes(8))
    huge = {name: {"size": 10**10, "dtype": "<f8", "constant": 0.5} for name in ("score", "weight", "rows", "events")}
    changes = {
        "a run elsewhere": lambda found: found["runs"][0].update(name=str(victim.with_suffix(""))),
        "a run above": lambda found: found["runs"][0].update(name="../victim"),
        "a name that is a number": lambda found: found["runs"][0].update(name=3),
        "a run without files": lambda found: found["runs"][0].update(columns=huge),
        "columns of other sizes": lambda found: found["runs"][0]["columns"]["rows"].update(size=10**18),
        "a negative size": lambda found: found["runs"][0]["columns"]["score"].update(size=-1),
        "another type": lambda found: found["runs"][0]["columns"]["score"].update(dtype="O"),
        "runs that would be written over": lambda found: found.update(next=0),
        "no number": lambda found: found.update(next="9"),
        "another kind": lambda found: found.update(kind="Grid"),
        "nothing": lambda found: found.clear(),
    }
    for name, change in changes.items():
        kept.write_bytes(content)
        crafted(change_state=lambda total, change=change: change(total["sorted"][0]))
        before = sorted(tmp_path.rglob("*"))
        message = refusal(run, parts, kept, verbs=[kuiper_test], exact=True)
        assert message.startswith(f"{kept} cannot be read as a checkpoint"), name
        assert sorted(tmp_path.rglob("*")) == before, name
    kept.write_bytes(content)
    assert run(parts, kept, verbs=[kuiper_test], exact=True) == whole
    assert victim.exists()


def test_crafted_totals(parts, broken_off, refusal):
    name, values = codec.decode(broken_off.read_bytes())
    for wrong in ([-1], [0], ["1"], [1] * 9, [[1]], 7):
        states = []
        for state in values["states"]:
            inner, held = codec.decode(state)
            about = json.dumps({"merged": wrong, "sorted": []})
            summaries = tuple(nested(summary) for summary in held["summaries"])
            states.append(nested(codec.encode(inner, {"about": about, "summaries": summaries})))
        broken_off.write_bytes(codec.encode(name, {"about": values["about"], "states": tuple(states)}))
        assert refusal(run, parts, broken_off).startswith(f"{broken_off} cannot be read as a checkpoint: ")


def test_options_as_text():
    assert described(np.random.default_rng(3)) == described(np.random.default_rng(3))
    assert described(np.random.default_rng(3)) != described(np.random.default_rng(4))
    assert (
        described({"a": [1, (2.5, "x")], "f": ece})
        == "{a: [1, [2.5, 'x']], f: calibrant.probabilities.binned_errors.ece}"
    )
    assert described(np.arange(2)) == "array [0, 1]"


def test_a_checkpoint_of_another_format(parts, broken_off, monkeypatch, refusal):
    monkeypatch.setattr(module, "FORMAT", 99)
    assert "it was written by another calibrant" in refusal(run, parts, broken_off)


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
def test_killed(parts, kept, number, code):
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(parts), str(kept)]
    ended, errors = ended_by(number, command, kept)
    assert ended == code, errors
    assert 0 < Checkpoint.read(kept).now.done < 1000
    assert run(parts, kept) == run(parts)
    assert list(kept.parent.iterdir()) == [parts]


TERMINATED = """
    import sys, time
    from calibrant.engines import totals
    from calibrant.engines.jobs import Measuring
    from calibrant.files import reading, run_job
    from calibrant.files.scan import scan
    reading.BATCH, totals.MEMORY, run_job.CHECKPOINT_BATCHES = 64, 50, int(sys.argv[3])
    part = Measuring.part
    Measuring.part = lambda self, batch: (print("batch", flush=True), time.sleep(0.1), part(self, batch))[2]
    kept = None if sys.argv[2] == "none" else sys.argv[2]
    scan(sys.argv[1], y="y", prediction="p").measure("kuiper_test", exact=True, checkpoint=kept)
"""


def test_a_run_that_is_terminated_leaves_a_last_checkpoint_and_no_temporary_files(parts, kept, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for place in ("none", str(kept)):  # as if checkpoints were rare
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(TERMINATED), str(parts), place, "1000000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(temporary)},
        )
        try:
            for _ in range(6):
                assert process.stdout.readline() == b"batch\n"
            assert bool(list(temporary.iterdir())) == (place == "none")
            process.terminate()
            process.wait(60)
        finally:
            process.kill()
            process.communicate()
        assert process.returncode == 143
        assert not list(temporary.iterdir())
    assert Checkpoint.read(kept).now.done > 0
    assert run(parts, verbs=["kuiper_test"], exact=True) == run(parts, kept, verbs=["kuiper_test"], exact=True)
    assert sorted(kept.parent.iterdir()) == sorted([parts, temporary])
