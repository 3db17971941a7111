"""Simulation-based calibration: the contract of the functions, seeds, failures, checkpoints, workers."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import calibrant as cb
from calibrant.core import summary as codec
from calibrant.errors import CalibrantError
from calibrant.results import Calibration, Interrupted
from calibrant.simulating import simulate_calibration as module
from calibrant.simulating.calibration import verdict_range
from calibrant.simulating.fits import Task
from calibrant.simulating.parts import read_part
from calibrant.summaries import Ranks

sys.path.insert(0, str(Path(__file__).parent))
import models

NAMED = (models.prior, models.simulator, models.sampler)
ARRAYS = (models.array_prior, models.array_simulator, models.array_sampler)


def run(*functions, **options):
    return cb.simulate_calibration(*(functions or ARRAYS), **{"n": 30, "draws": 9, "rng": 3, **options})


def with_sampler(sampler, **options):
    return run(models.array_prior, models.array_simulator, sampler, **options)


def same(a: Calibration, b: Calibration):
    np.testing.assert_array_equal(a.y, b.y)
    np.testing.assert_array_equal(a.prediction.held, b.prediction.held)
    np.testing.assert_array_equal(a.index, b.index)
    assert a.failures == b.failures


class TestContract:
    def test_names_arrays_and_numbers(self):
        found = run(*NAMED)
        assert found.names == ("mu", "log_sigma[0]", "log_sigma[1]")
        assert found.y.shape == (30, 3)
        assert repr(found.prediction) == "Samples(30 rows, 9 draws of 3 coordinates)"
        assert found.x.shape == (30, 3)
        assert found.ranks().shape == (30, 3)
        assert found.ranks(quantity="sum").shape == (30,)
        assert repr(found) == "Calibration(30 fits, parameters mu, log_sigma[0], log_sigma[1])"
        assert (found.seconds > 0).all()
        assert run().names == ("theta[0]", "theta[1]")
        found = run(lambda rng: rng.normal(), lambda t, rng: rng.normal(t), lambda x, M, rng: rng.normal(x, 1, M))
        assert (found.names, found.y.shape, found.prediction.held.shape) == (("theta",), (30, 1), (30, 9, 1))
        simulator = lambda t, rng: {"x": models.array_simulator(t, rng)}  # noqa: E731  # data that are no numbers
        found = run(models.array_prior, simulator, lambda x, M, rng: models.array_sampler(x["x"], M, rng))
        assert found.x is None
        np.testing.assert_array_equal(found.prediction.held, run().prediction.held)

    def test_seeds_are_those_of_numpy(self):
        """Fit i has SeedSequence(entropy).spawn(n)[i], split in three."""
        found = run()
        spawned = np.random.SeedSequence(3).spawn(30)
        for i in (0, 7, 29):
            of_prior, of_data, of_draws = (np.random.default_rng(s) for s in spawned[i].spawn(3))
            theta = of_prior.normal(size=2)
            x = of_data.normal(theta)
            np.testing.assert_array_equal(found.y[i], theta)
            np.testing.assert_array_equal(found.x[i], x)
            np.testing.assert_array_equal(found.prediction.held[i], models.array_sampler(x, 9, of_draws))
        (alone,) = Task(*ARRAYS, 3, 9, False, None, 2).run((7,))
        np.testing.assert_array_equal(alone.draws, found.prediction.held[7])
        same(run(rng=np.random.default_rng(1)), run(rng=np.random.default_rng(1)))

    def test_chains_and_unequal_rows(self):
        found = with_sampler(lambda x, M, rng: rng.normal(size=(3, M, 2)))
        assert (found.prediction.M, found.prediction.chains) == (27, 3)
        named = lambda x, M, rng: {"mu": rng.normal(size=(2, M)), "log_sigma": rng.normal(size=(2, M, 2))}  # noqa: E731
        found = run(models.prior, models.simulator, named)
        assert (found.prediction.M, found.prediction.chains) == (18, 2)
        found = with_sampler(lambda x, M, rng: rng.normal(x / 2, 0.7, (M - int(rng.integers(3)), 2)))
        assert sorted(set(found.prediction.counts)) == [7, 8, 9]
        assert found.ranks().max() <= 7
        assert found.audit(resamples=19).findings.n == 30

    def test_densities_and_divergences(self):
        def sampler(x, M, rng):
            draws = rng.normal(x / 2, 0.5**0.5, (M, 2))
            log_density, divergences = -((draws - x / 2) ** 2).sum(axis=1), np.arange(M) == 0
            return {"draws": draws, "log_density": log_density, "divergences": divergences}

        found = with_sampler(sampler)
        assert found.prediction.log_densities.shape == (30, 9)
        assert found.divergences.tolist() == [1] * 30
        assert any("30 divergent transitions in 30 of 30 fits" in c for c in found.audit(resamples=19).findings.caveats)

    def test_quantities_see_the_data(self):
        f = lambda z, x: -((z - x[:, None]) ** 2).sum(axis=2)  # noqa: E731
        prior = with_sampler(lambda x, M, rng: rng.normal(size=(M, 2)), n=200, quantity={"likelihood": f})
        audit = prior.audit(resamples=19)
        assert audit.verdict.status == "miscalibrated"
        used = [each.label for each in audit.findings.sections[0].measurements if each.decides]
        assert any("by likelihood" in label for label in used)
        assert prior.ranks().shape == (200, 1)

    def test_batches(self):
        assert with_sampler(models.batch_sampler, batch=8).prediction.held.shape == (30, 9, 2)
        sizes = []

        def sampler(xs, M, rng):
            sizes.append(len(xs))
            return {"a": np.zeros((len(xs), M)) + rng.normal(size=(len(xs), M))}

        run(lambda rng: {"a": rng.normal()}, lambda t, rng: 1.0, sampler, batch=8)
        assert sizes == [8, 8, 8, 6]

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"n": 19}, "n must be at least 20"),
            ({"draws": 0}, "draws must be at least 1"),
            ({"workers": 0}, "workers must be at least 1"),
            ({"batch": 0}, "batch must be at least 1"),
            ({"quantity": "summ"}, "Did you mean 'sum'?"),
            ({"worker": 2}, ", workers=2)?"),
        ],
    )
    def test_refused_options(self, refusal, given, words):
        assert words in refusal(run, **given)
        assert "sampler must be a function" in refusal(with_sampler, object())
        assert "integrations.samplers.as_sampler" in refusal(with_sampler, 3)

    def test_prior_that_fails(self):
        with pytest.raises(CalibrantError, match=r"the prior failed in the first 5 fits: ValueError: no"):
            run(lambda rng: (_ for _ in ()).throw(ValueError("no")), *ARRAYS[1:])


def divergent(value):
    return lambda x, M, rng: {"draws": rng.normal(size=(M, 2)), "divergences": value}


BAD = {
    "raises": (lambda x, M, rng: 1 / 0, "ZeroDivisionError"),
    "nan": (lambda x, M, rng: np.full((M, 2), np.nan), "18 of 18 are nan or infinite"),
    "shape": (lambda x, M, rng: np.zeros((2, M)), "(draws, D) = (9, 2), or (chains, draws, D); got shape (2, 9)"),
    "more": (lambda x, M, rng: np.zeros((M + 1, 2)), "10 draws where 9 were asked for"),
    "text": (lambda x, M, rng: [["a", "b"]] * M, "must return numbers"),
    "names": (lambda x, M, rng: {"a": np.zeros(M)}, "where the prior returns numbers"),
    "density": (lambda x, M, rng: {"draws": np.zeros((M, 2)), "log_density": [0.0]}, "log_density of the sampler"),
    "unknown": (lambda x, M, rng: {"draws": np.zeros((M, 2)), "weights": 1}, "'weights' beside draws"),
    **{f"divergences {x}": (divergent(x), "must be whole numbers") for x in (-1, 0.5, np.nan, np.inf, [1, -1])},
}


class TestFailures:
    @pytest.mark.parametrize("bad", BAD)
    def test_samplers_that_never_work_stop_the_run_and_others_lose_nothing(self, bad):
        sampler, words = BAD[bad]
        with pytest.raises(CalibrantError) as stopped:
            with_sampler(sampler)
        assert "the first 5 fits failed" in str(stopped.value)
        assert words in str(stopped.value)
        broken = lambda x, M, rng: (sampler if x[0] > 1.5 else models.array_sampler)(x, M, rng)  # noqa: E731
        found, right = with_sampler(broken, n=60), run(n=60)
        assert 0 < len(found.failures) < 30
        kept = np.setdiff1d(np.arange(60), [f.index for f in found.failures])
        np.testing.assert_array_equal(found.index, kept)
        np.testing.assert_array_equal(found.prediction.held, right.prediction.held[kept])
        failure = found.failures[0]
        assert words.split(" ")[0] in f"{failure.exception} {failure.message}" or words in failure.message
        np.testing.assert_array_equal(failure.theta, right.y[failure.index])
        assert failure.seed == (3, failure.index)

    def test_names_of_the_prior_and_batches_must_fit(self, refusal):
        prior = lambda rng: {"a": 1.0} if rng.random() < 0.9 else {"b": 1.0}  # noqa: E731
        found = run(prior, lambda t, rng: 0.0, lambda x, M, rng: {"a": rng.normal(size=M)}, n=60)
        assert found.failures[0].message.startswith("the prior must return the same parameters in every fit: a; got b")
        with pytest.raises(CalibrantError, match="got 8 data sets and returned 7 sets of draws"):
            with_sampler(lambda xs, M, rng: np.zeros((len(xs) - 1, M, 2)), batch=8)
        few = lambda x, M, rng: BAD["nan"][0](x, M, rng) if x[1] > -0.2 else models.array_sampler(x, M, rng)  # noqa: E731
        assert "at least 20 are needed" in refusal(with_sampler, few)

    def test_failures_widen_the_verdict_unless_the_error_is_gross(self):
        # The worst ranks of failed fits decide whether anything can be said.
        found = with_sampler(models.failing_sampler, n=200, draws=99)
        assert 5 < len(found.failures) < 60
        audit = found.audit(resamples=19)
        assert audit.verdict.status == "cannot tell"
        assert audit.verdict.headline.startswith(f"Cannot tell: {len(found.failures)} of 200 fits failed")
        assert audit.verdict.lines[0].text.startswith("of the finished fits alone: ")
        failed, differ = audit.findings.caveats[:2]
        assert "RuntimeError: no convergence" in failed
        assert "second line" not in failed
        assert "Fits fail where theta[0] is larger" in differ
        sampler = lambda x, M, rng: models.failing_sampler(x, M, rng) * 0.1  # noqa: E731
        audit = with_sampler(sampler, n=200, draws=99).audit(resamples=19)
        assert audit.verdict.status == "miscalibrated"
        assert any("whatever their ranks were" in line.text for line in audit.verdict.lines)

    def test_limits_contain_those_of_every_case(self, rng):
        ranks = Ranks.of(rng.integers(0, 20, 200), M=19)
        few, many = verdict_range(ranks, 2, 0.95), verdict_range(ranks, 20, 0.95)
        assert many.low <= few.low
        assert many.high >= few.high
        assert many.pvalues[0] < few.pvalues[0]
        assert many.rejects == {False, True}


class TestCheckpoint:
    def test_it_resumes_with_the_same_bits(self, tmp_path, monkeypatch):
        right = run(n=60)
        same(run(n=30, checkpoint=tmp_path), run())
        before = sorted(path.name for path in tmp_path.iterdir())
        same(run(n=60, checkpoint=tmp_path), right)
        assert set(before) <= {path.name for path in tmp_path.iterdir()}
        monkeypatch.setattr(Task, "run", lambda task, indices: 1 / 0)  # nothing is made again
        same(run(n=60, checkpoint=tmp_path), right)
        monkeypatch.undo()
        same(run(n=30, checkpoint=tmp_path), run())

    def test_densities_and_failures_are_kept(self, tmp_path):
        def sampler(x, M, rng):
            if x[0] > 1.5:
                raise RuntimeError
            draws = rng.normal(x / 2, 0.5**0.5, (M, 2))
            q = -((draws - x / 2) ** 2).sum(axis=1)
            return {"draws": draws, "log_density": q, "log_density_y": -1.0, "divergences": 2}

        found = with_sampler(sampler, n=60)
        assert found.failures != ()
        for _ in range(2):
            kept = with_sampler(sampler, n=60, checkpoint=tmp_path)
            same(found, kept)
            np.testing.assert_array_equal(found.prediction.log_densities, kept.prediction.log_densities)
            for name in ("log_density_y", "divergences", "x"):
                np.testing.assert_array_equal(getattr(found, name), getattr(kept, name))

    @pytest.mark.parametrize(
        ("functions", "given", "words"),
        [
            (ARRAYS, {"draws": 10}, "draws was 9, and is 10 now"),
            (ARRAYS, {"rng": 4}, "entropy was 3, and is 4 now"),
            (NAMED, {}, "names was None"),
            ((*ARRAYS[:2], models.failing_sampler), {}, "callables was "),
        ],
    )
    def test_another_run_is_refused(self, tmp_path, refusal, functions, given, words):
        run(checkpoint=tmp_path)
        assert words in refusal(run, *functions, checkpoint=tmp_path, **given)
        (tmp_path / "run.json").write_text("{}")
        assert "is not the description of a run" in refusal(run, checkpoint=tmp_path)
        (tmp_path / "file").write_text("")
        assert "cannot make the folder" in refusal(run, checkpoint=tmp_path / "file")

    @pytest.mark.parametrize("damage", ["cut", "empty", "text", "missing", "values", "another", "pickle"])
    def test_damaged_parts_are_made_again(self, tmp_path, monkeypatch, damage):
        monkeypatch.setattr(module, "FITS_PER_PART", 10)
        run(checkpoint=tmp_path)
        part = tmp_path / "part-000010.npz"
        content = part.read_bytes()
        if damage == "missing":
            part.unlink()
        elif damage == "values":
            name, columns = codec.decode(content)
            part.write_bytes(codec.encode(name, {**columns, "draws": columns["draws"] * np.nan}))
        elif damage == "another":
            part.write_bytes(cb.summarize("ece", [0, 1], [0.2, 0.7]).to_bytes())
        elif damage == "pickle":
            np.savez(part, index=np.array([{}], dtype=object))
        else:
            part.write_bytes({"cut": content[:-100], "empty": b"", "text": b"no archive"}[damage])
        if damage == "missing":
            same(run(checkpoint=tmp_path), run())
        else:
            with pytest.warns(UserWarning, match=r"npz cannot be read \((?!.*unsafely).*its fits are made again"):
                same(run(checkpoint=tmp_path), run())

    def test_a_flipped_byte(self, tmp_path):
        right = run(checkpoint=tmp_path)
        part = tmp_path / "part-000000.npz"
        content = part.read_bytes()
        for place in range(0, len(content), len(content) // 20):
            damaged = bytearray(content)
            damaged[place] ^= 255
            part.write_bytes(damaged)
            with pytest.warns(UserWarning, match="its fits are made again"):
                same(run(checkpoint=tmp_path), right)

    def test_one_runner_at_a_time(self, tmp_path, refusal):
        pytest.importorskip("fcntl")
        with module.sole_writer(tmp_path / "run.json", what="the checkpoint"):
            assert "another run is using the checkpoint" in refusal(run, checkpoint=tmp_path)
        run(checkpoint=tmp_path)


def start(folder, sampler="slow_sampler", workers=1, n=60):
    script = Path(__file__).with_name("run.py")
    command = [sys.executable, str(script), str(folder), sampler, str(workers), str(n)]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until_parts(folder, process, number=1, seconds=60):
    """Wait until there are so many parts."""
    end = time.monotonic() + seconds
    while len(list(folder.glob("part-*.npz"))) < number and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)


def test_functions_may_write_into_what_they_got_and_returned():
    """What functions return is copied: they may use the same memory again."""
    buffer = np.empty((9, 2))

    def simulator(theta, rng):
        x = models.array_simulator(theta, rng)
        theta *= 100
        return x

    def sampler(x, draws, rng):
        buffer[:] = models.array_sampler(x, draws, rng)
        x[:] = 0
        return {"draws": buffer, "log_density": buffer[:, 0], "log_density_y": 0.0}

    found = run(models.array_prior, simulator, sampler)
    same(found, run())
    np.testing.assert_array_equal(found.x, run().x)
    np.testing.assert_array_equal(found.prediction.log_densities, found.prediction.held[:, :, 0])


class Strange(Exception):  # noqa: N818
    def __str__(self):
        raise RuntimeError("no words")


def test_hostile_messages_of_failures(tmp_path):
    """They are shown, and neither change the direction of writing nor become part of the page."""

    def sampler(x, draws, rng):
        if x[0] < -1.5:
            raise Strange  # it cannot be written
        if x[0] > 1.0:
            raise ValueError("\u202eleft <script>alert(1)</script> $$ \ud800 " + "x" * 5000)
        return models.array_sampler(x, draws, rng)

    found = with_sampler(sampler, n=60, checkpoint=tmp_path / "run")
    assert "" in {failure.message for failure in found.failures if failure.exception == "Strange"}
    audit = found.audit(resamples=19)
    page = audit.to_html(tmp_path / "page.html").read_text("utf-8")
    assert "<script>alert(1)" not in page
    assert "alert(1)" in page
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)  # the data of the page
    assert "\u202e" not in shown + str(audit)
    assert r"\u202eleft" in shown


class TestKilled:
    @pytest.mark.parametrize("workers", [1, 2])
    def test_kill_9_at_any_moment(self, tmp_path, workers):
        """Killed three times, in the middle of a part or of writing one, and finished: the same bits."""
        for number in (1, 3, 5):
            process = start(tmp_path, workers=workers)
            until_parts(tmp_path, process, number)
            process.kill()
            process.communicate()
            assert len(list(tmp_path.glob("part-*.npz"))) >= min(number, 8)
        found = with_sampler(models.slow_sampler, n=60, checkpoint=tmp_path)
        same(found, run(n=60))

    @pytest.mark.parametrize(("sampler", "n"), [("slow_sampler", 60), ("hanging_sampler", 400)])
    def test_workers_end_with_their_parent(self, tmp_path, sampler, n):
        process = start(tmp_path, sampler, workers=2, n=n)
        until_parts(tmp_path, process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if not children.exists():
            pytest.skip("no /proc")
        time.sleep(0.5 * (sampler == "hanging_sampler"))  # both hang soon after the first part
        pids = [int(pid) for pid in children.read_text().split()]
        assert len(pids) >= 2
        process.kill()
        process.communicate()
        end = time.monotonic() + 30
        while any(alive(pid) for pid in pids) and time.monotonic() < end:
            time.sleep(0.05)
        assert not any(alive(pid) for pid in pids)

    def test_two_processes_on_one_checkpoint(self, tmp_path):
        """One of them is refused with a sentence, and the other one ends as if it had been alone."""
        both = [start(tmp_path, workers=workers) for workers in (1, 2)]
        ends = [(process.communicate(timeout=100)[1], process.returncode) for process in both]
        refused = [err for err, code in ends if code]
        assert len(refused) <= 1  # one may have ended before the other began
        assert all("another run is using the checkpoint" in err for err in refused)
        same(with_sampler(models.slow_sampler, n=60, checkpoint=tmp_path), run(n=60))

    @pytest.mark.parametrize("workers", [1, 2])
    def test_an_interrupt_keeps_finished_fits(self, tmp_path, workers):
        """A sampler that hangs is interrupted as by Ctrl-C, which all processes of the terminal get."""
        process = start(tmp_path, "hanging_sampler", workers, n=400)
        until_parts(tmp_path, process)
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert "interrupted after" in out, err
        assert "repeat the call to resume" in out
        known = [fit for part in tmp_path.glob("part-*.npz") for fit in read_part(part, {"D": 2})]
        assert f"interrupted after {len(known)} of 400 fits" in out

    def test_an_interrupt_without_a_checkpoint(self):
        calls = []

        def sampler(x, M, rng):
            calls.append(1)
            if len(calls) > 25:
                raise KeyboardInterrupt
            return models.array_sampler(x, M, rng)

        with pytest.raises(Interrupted, match="interrupted after 25 of 30 fits") as stopped:
            with_sampler(sampler)
        np.testing.assert_array_equal(stopped.value.calibration.y, run().y[:25])


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class TestWorkers:
    def test_processes_give_the_same_and_one_that_dies_fails_its_fit_alone(self):
        same(run(workers=2), run())
        found, right = with_sampler(models.killed_sampler, n=60, workers=2), run(n=60)
        assert len(found.failures) >= 1
        assert {failure.exception for failure in found.failures} == {"ProcessEnded"}
        assert "exit code -9" in found.failures[0].message
        for failure in found.failures:
            np.testing.assert_array_equal(failure.theta, right.y[failure.index])
        np.testing.assert_array_equal(found.prediction.held, right.prediction.held[found.index])

    def test_refused_scripts_and_functions(self, tmp_path, refusal):
        script = tmp_path / "script.py"
        folder = Path(__file__).parent
        script.write_text(
            f"import sys; sys.path.insert(0, {str(folder)!r})\nimport models, calibrant as cb\n"
            "cb.simulate_calibration(models.array_prior, models.array_simulator, models.array_sampler, n=20, draws=9, "
            "workers=2)\n"
        )
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 1
        assert "Put the call under if __name__ == '__main__':" in done.stderr.splitlines()[-1]
        import threading

        lock = threading.Lock()
        words = refusal(with_sampler, lambda x, M, rng: lock, workers=2)
        assert "the sampler cannot be sent to other processes" in words

    def test_dask(self):
        distributed = pytest.importorskip("distributed")
        options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            same(run(workers=client), run())
            same(with_sampler(models.failing_sampler, n=60, workers=client), with_sampler(models.failing_sampler, n=60))


def test_progress(capsys, monkeypatch):
    monkeypatch.setattr("calibrant.progress.PATIENCE", 0.0)
    monkeypatch.setattr("calibrant.progress.INTERVAL", 0.0)
    with_sampler(models.failing_sampler, n=60, progress=True)
    err = capsys.readouterr().err
    assert "fitting: 1 of 60 fits" in err
    assert "failed), " in err
    assert "per second, about" in err
    run(progress=False)
    assert capsys.readouterr().err == ""


def test_the_verdicts():
    """An exact sampler is not rejected, a narrow one is, and so is one that ignores the data."""
    assert run(n=300, draws=49).audit(resamples=19).verdict.status != "miscalibrated"
    assert with_sampler(models.narrow_sampler, n=300, draws=49).audit(resamples=19).verdict.status == "miscalibrated"
    prior = with_sampler(lambda x, M, rng: rng.normal(size=(M, 2)), n=300, draws=49)
    assert prior.audit(resamples=19).verdict.status == "miscalibrated"
