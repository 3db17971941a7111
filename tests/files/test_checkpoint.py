"""A run that was broken off goes on from where it was, and gives the same bits."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from calibrant import ece, kuiper_test, spiegelhalter_test
from calibrant.errors import CalibrantError
from calibrant.files import checkpoint as module
from calibrant.files import passing
from calibrant.files import scan as scanning
from calibrant.files.checkpoint import Checkpoint, described
from calibrant.files.scan import scan

VERBS = (ece, kuiper_test, spiegelhalter_test, "brier_score")


@pytest.fixture(autouse=True)
def often(monkeypatch, small_batches):
    """Write a checkpoint after every second batch."""
    monkeypatch.setattr(passing, "EVERY", 2)
    monkeypatch.setattr(passing, "SHARE", float("inf"))


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
    found = scan(folder, **{"y": "y", "prediction": "p", **options}).measure(*verbs, checkpoint=kept, exact=exact)
    return repr(found)


@pytest.fixture
def stop_after(monkeypatch):
    """Return a function that lets the run end after so many batches."""
    from calibrant.engines.measuring import Measuring

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
    monkeypatch.setattr(passing, "_rows", lambda piece: read.append(piece) or piece.rows)
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
    monkeypatch.setattr(passing, "_rows", lambda piece: read.append(piece) or piece.rows)
    assert run(parts, kept, verbs=[kuiper_test], exact=True) == whole
    assert len(read) <= 12


def test_two_exact_runs_with_one_checkpoint_do_not_meet(parts, tmp_path, kept, little_memory, columns, write):
    """Each has a folder of its own; whoever ends first leaves the other's rows alone."""
    other = write(tmp_path / "other.parquet", {**columns, "p": 1 - columns["p"]})
    first = scan(other, y="y", prediction="p")
    whole, found, begun = run(parts, verbs=[kuiper_test], exact=True), [], []

    def meanwhile(piece):
        if not begun:
            begun.append(piece)
            found.append(repr(first.measure(kuiper_test, checkpoint=kept, exact=True)))
        return piece.rows

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(passing, "_rows", meanwhile)
        patched.setattr(passing, "EVERY", 10**6)
        assert run(parts, kept, verbs=[kuiper_test], exact=True) == whole
    assert found == [repr(first.measure(kuiper_test, exact=True))]
    assert not list(kept.parent.glob("run.checkpoint*"))


@pytest.mark.parametrize("what", ["rewritten", "removed"])
def test_a_file_that_changes_after_it_was_read(parts, kept, stop_after, columns, write, refusal, what):
    """It is known by what it was when it was opened, and a run that is on its way does not mind."""
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
        patched.setattr(passing, "_rows", change)
        with pytest.raises(MemoryError):
            run(parts, kept)
    stop_after(-1, None)
    words = refusal(run, parts, kept)
    assert "has changed since it was read" in words if what == "rewritten" else f"it has read {file}" in words


def test_many_small_files_are_kept_too(tmp_path, kept, columns, write, monkeypatch):
    """What it costs to remember the total before each file does not put off writing it down for ever."""
    monkeypatch.setattr(passing, "SHARE", 0.05)
    for k in range(30):
        write(tmp_path / "many" / f"{k:02}.parquet", columns, slice(20 * k, 20 * k + 20))
    written, write_down = [], Checkpoint.write

    def noted(checkpoint, path):
        written.append(checkpoint.now.files)
        write_down(checkpoint, path)

    monkeypatch.setattr(Checkpoint, "write", noted)
    monkeypatch.setattr(passing, "_rows", lambda piece: time.sleep(0.02) or piece.rows)
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
    from calibrant.engines.running import Running

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
        f"The 664 rows before are kept in {kept}: mend this or take the file away, and run the same again to go on "
        "from there"
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
    assert message.startswith(f"the checkpoint {broken_off} is of another run: {words}")
    assert message.endswith("Delete it to start again, or run again what it is of")
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
    assert "part-9.parquet holds numbers of 32 bits, but of 64 bits in" in refusal(run, parts, broken_off)


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


def test_a_full_disk(parts, broken_off, monkeypatch, refusal):
    before = broken_off.read_bytes()

    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        message = refusal(run, parts, broken_off, error=CalibrantError)
    assert message.startswith(
        f"the checkpoint was not kept: cannot write {broken_off}: no space left on device. The one before it is still "
    )
    assert message.endswith("Make room or name another place, and run the same again")
    assert broken_off.read_bytes() == before
    assert [path for path in broken_off.parent.iterdir() if path.name.endswith(".tmp")] == []
    assert run(parts, broken_off) == run(parts)


def test_options_as_text():
    assert described(np.random.default_rng(3)) == described(np.random.default_rng(3))
    assert described(np.random.default_rng(3)) != described(np.random.default_rng(4))
    assert described({"a": [1, (2.5, "x")], "f": ece}) == "{a: [1, [2.5, 'x']], f: calibrant.probabilities.binned_errors.ece}"
    assert described(np.arange(2)) == "array [0, 1]"


def test_a_checkpoint_of_another_format(parts, broken_off, monkeypatch, refusal):
    monkeypatch.setattr(module, "FORMAT", 99)
    assert "it was written by another calibrant" in refusal(run, parts, broken_off)


KILLED = """
    import sys, time
    from calibrant.engines.measuring import Measuring
    from calibrant.files import passing, reading
    from calibrant.files.scan import scan
    reading.BATCH, passing.EVERY, passing.SHARE = 64, 1, float("inf")
    slow, folder, kept = sys.argv[1] == "slow", sys.argv[2], sys.argv[3]
    part = Measuring.part
    if slow:
        Measuring.part = lambda self, batch: (time.sleep(0.1), part(self, batch))[1]
    print(scan(folder, y="y", prediction="p").measure("ece", "kuiper_test", "brier_score", checkpoint=kept))
"""


def test_killed(parts, kept):
    def command(how, place):
        return [sys.executable, "-c", textwrap.dedent(KILLED), how, str(parts), str(place)]

    whole = subprocess.run(command("quick", kept), check=True, capture_output=True, text=True, timeout=120).stdout
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # it may be killed while it writes
    process = subprocess.Popen(command("slow", kept), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + 100
        while not kept.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.35)
    finally:
        process.kill()
        errors = process.communicate()[1]
    assert process.returncode == -signal.SIGKILL, errors.decode()
    assert 0 < Checkpoint.read(kept).now.done < 1000
    again = subprocess.run(command("quick", kept), check=True, capture_output=True, text=True, timeout=120).stdout
    assert again == whole
    assert not kept.exists()
