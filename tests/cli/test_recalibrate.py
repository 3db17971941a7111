"""`calibrant recalibrate` and `calibrant apply`: the library's maps, on files."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest

import calibrant as cb
from calibrant.cli.recalibrate import gain_lines
from calibrant.recalibrating.gain import RecalibrationGain, recalibration_gain
from calibrant.recalibrating.gain_claims import gain_claim, gain_note
from calibrant.recalibrating.recalibrate import recalibrate
from calibrant.recalibrating.recalibration import Recalibration

N = 600


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x, m = rng.normal(size=N) * 1.5, rng.normal(size=N)
    p = 1 / (1 + np.exp(-x))
    z = m + 2 * rng.normal(size=N)
    label = (rng.uniform(size=N) < 1 / (1 + np.exp(-0.5 * x))).astype(int)
    shifts = {"lo": -1, "hi": 1, "low50": -0.5, "high50": 0.5, "q10": -1, "q50": 0, "q90": 1}
    shifts |= {"m1": -1, "m2": 0, "m3": 0.7, "m4": 0.2}
    columns = {"id": [f"{i:05d}" for i in range(N)], "label": label, "score": p, "P_0": 1 - p, "P_1": p, "z": z}
    columns |= {"region": rng.choice(["north", "south"], N), "w": rng.uniform(0.5, 2, N)}
    columns |= {"day": np.arange(N), "person": np.arange(N) // 3}
    return pl.DataFrame(columns | {name: m + shift for name, shift in shifts.items()})


@pytest.fixture
def files(folder, table):
    table.write_parquet(folder / "calib.parquet")
    table.write_csv(folder / "calib.csv")
    return folder


def column(path, name):
    return pl.read_parquet(path)[name].to_numpy()


class TestRecalibrate:
    def test_probabilities(self, run, files, table):
        done = run("recalibrate", "calib.parquet", "--y label --p score -o map.json")
        assert (done.code, done.err) == (0, "")
        y, p = table["label"].to_numpy(), table["score"].to_numpy()
        expected, gain = recalibrate(y, p), recalibration_gain(y, p)
        found = Recalibration.from_json(files / "map.json")
        assert found.method == expected.method == "temperature"
        assert found.parameters["slope"] == expected.parameters["slope"]
        assert dict(found.columns) == {"p": ("score",)}
        first, second, third = done.out.splitlines()
        assert first.startswith("temperature, fitted on 600 rows of probabilities (chosen by auto among identity,")
        assert f"slope {found.parameters['slope']:.4f}"[:10] in first
        assert gain.low > 0
        assert f"{gain.estimate:#.4g}" in second
        assert third == "map: map.json"

    def test_options_reach_the_library(self, run, files, table):
        y, p = table["label"].to_numpy(), table["score"].to_numpy()
        arguments = "--y label --p score --weights w --seed 3 -o map.json"
        done = run("recalibrate", "calib.parquet", arguments, "--method logistic --smoothing platt --no-gain")
        assert (done.code, len(done.out.splitlines())) == (0, 2)
        expected = recalibrate(y, p, method="logistic", smoothing="platt", weights=table["w"].to_numpy())
        assert dict(Recalibration.from_json(files / "map.json").parameters) == dict(expected.parameters)
        for option, values in (("clusters", "person"), ("time", "day")):
            done = run("recalibrate", "calib.parquet", arguments, "--method beta", f"--{option}", values, "--folds 4")
            given = {"weights": table["w"].to_numpy(), option: table[values].to_numpy()}
            gain = recalibration_gain(y, p, method="beta", folds=4, rng=3, **given)
            assert done.code == 0
            assert f"{gain.estimate:#.4g}" in done.out
        done = run("recalibrate", "calib.parquet", arguments, "--score brier --clip 1e-3 --confidence 0.9")
        assert "Brier score" in done.out
        assert "90 % limits" in done.out

    def test_no_map_for_calibrated_predictions(self, run, folder):
        rng = np.random.default_rng(1)
        p = rng.uniform(size=2000)
        pl.DataFrame({"y": (rng.uniform(size=2000) < p).astype(int), "p": p}).write_parquet("c.parquet")
        done = run("recalibrate", "c.parquet", "--y y --p p -o map.json")
        assert done.code == 0
        assert done.out.startswith("identity, fitted on 2,000 rows of probabilities (chosen by auto among identity,")
        assert "lower by" not in done.out
        assert run("apply", "map.json", "c.parquet", "-o out.parquet").code == 0
        np.testing.assert_array_equal(column("out.parquet", "p_recalibrated"), p)

    def test_a_map_that_does_harm_is_said_to(self):
        found = Recalibration("binary", "beta", {"a": 1.0, "b": 1.0, "c": 0.0}, 100)
        values = {"before": 0.5, "after": 0.51, "estimate": -0.01, "low": -0.02, "high": -0.001, "level": 0.95}
        rest = {"share": -0.02, "in_sample": 0.001, "row_gain": np.zeros(100), "chosen": ("beta",), "note": ""}
        harm = RecalibrationGain(**values, **rest, method="beta", score="log", n=100)
        assert "do harm" in gain_lines(found, harm)[0]
        unsure = dataclasses.replace(harm, high=0.0004, estimate=-0.0005)
        assert "(95 % limits −0.0200 to 0.0004)" in gain_lines(found, unsure)[0]
        without = dataclasses.replace(harm, low=-np.inf, high=np.inf, note="No limits: few.")
        assert "few" in " ".join(gain_lines(found, without))
        gains = (harm, unsure, without)
        keys = [gain_note(gain_claim(each), "this map", each.score, each.note).key for each in gains]
        assert keys == ["map harms", "no gain shown", "gain without limits"]
        identity = dataclasses.replace(found, method="identity", parameters={})  # whatever the folds chose
        assert gain_lines(identity, without) == ["Predictions stay as they are, so nothing is gained."]

    def test_sets_that_become_full(self, run, folder):
        rng = np.random.default_rng(1)
        y, mask = rng.integers(0, 3, 2000), rng.random((2000, 3)) < 0.4
        mask[np.arange(2000), y] = rng.random(2000) < 0.85
        pl.DataFrame({"y": y, **{f"in_{k}": mask[:, k] for k in range(3)}}).write_parquet("s.parquet")
        done = run("recalibrate", "s.parquet", "--y y --set-cols 'in_*' --level 0.9 -o map.json")
        assert "column 1\n" in done.out
        assert "sets of level 0.9 become full: they contain every label" in done.err

    def test_few_rows_are_not_said_to_be_compared(self, run, folder):
        pl.DataFrame({"y": [0, 1] * 10, "p": [0.3, 0.6] * 10}).write_csv("few.csv")
        done = run("recalibrate", "few.csv", "--y y --p p")
        assert "Predictions stay as they are, so nothing is gained." in done.out
        assert "standard error" not in done.out

    def test_class_probabilities(self, run, files, table):
        done = run("recalibrate", "calib.parquet", "--y label --p-cols 'P_*' --method matrix --ridge 2 -o m.json")
        assert done.code == 0
        found = Recalibration.from_json(files / "m.json")
        P = table.select("P_0", "P_1").to_numpy()
        expected = recalibrate(table["label"].to_numpy(), P, method="matrix", ridge=2.0)
        np.testing.assert_array_equal(found.parameters["matrix"], expected.parameters["matrix"])
        assert "matrix (2 x 2 numbers)" in done.out

    def test_groups_of_intervals(self, run, files, table):
        arguments = "--y z --lower lo --upper hi --level 0.8 --by region --method shift"
        done = run("recalibrate", "calib.parquet", arguments, "-o map.json")
        assert done.code == 0
        lines = done.out.splitlines()
        assert lines[0] == "shift, fitted on 600 rows of intervals, one map for each of 2 groups:"
        assert [line.partition(":")[0] for line in lines[1:3]] == ["  north", "  south"]
        assert "interval score" in lines[3]
        done = run("apply", "map.json", "calib.parquet", "-o out.parquet")
        assert done.code == 0
        ivs = cb.Intervals(table["lo"].to_numpy(), table["hi"].to_numpy(), 0.8)
        region = table["region"].to_list()
        after = recalibrate(table["z"].to_numpy(), ivs, method="shift", groups=region).apply(ivs, groups=region)
        np.testing.assert_array_equal(column("out.parquet", "lo_recalibrated"), after.lower[:, 0])
        np.testing.assert_array_equal(column("out.parquet", "hi_recalibrated"), after.upper[:, 0])

    def test_groups_of_probabilities(self, run, files, table):
        arguments = "--y label --p score --by region --method logistic"
        lines = run("recalibrate", "calib.parquet", arguments, "-o map.json").out.splitlines()
        assert lines[0] == "logistic, fitted on 600 rows of probabilities, one map for each of 2 groups:"
        assert [line.partition(":")[0] for line in lines[1:4]] == ["  north", "  south", "  other groups"]
        assert "log score" in lines[4]
        assert lines[5].startswith("Maps of groups, beyond the common map: gain ")
        assert [line.partition(":")[0] for line in lines[6:8]] == ["  north", "  south"]
        table.with_columns(pl.col("region").replace("south", "west")).write_parquet("new.parquet")
        done = run("apply", "map.json", "new.parquet", "-o out.parquet")
        assert done.err.count("no group 'west'; it was fitted on ['north', 'south']. Rows of other groups get") == 1
        found = Recalibration.from_json(files / "map.json")
        region = table["region"].to_list()
        expected = found.apply(table["score"].to_numpy(), groups=region)
        common = found.common.apply(table["score"].to_numpy())
        expected[np.array(region) == "south"] = common[np.array(region) == "south"]
        np.testing.assert_array_equal(column("out.parquet", "score_recalibrated"), expected)

    def test_warnings_of_the_map_are_said(self, run, files, table):
        table.head(5).write_parquet("few.parquet")
        done = run("recalibrate", "few.parquet", "--y z --lower lo --upper hi --level 0.9 --method shift")
        assert done.code == 0
        assert "level 0.9 takes at least 9 rows of equal weight; there are 5 rows" in done.err
        assert "the gain on other rows cannot be measured" in done.err or "interval score" in done.out
        assert "map:" not in done.out

    def test_refusals(self, refused, files):
        for arguments, words in {
            "--y label --p-cols 'P_*' --by region": "--by gives groups of probabilities (--p) and intervals",
            "--y label --p score --method shift": "can be recalibrated by identity, temperature",
            "--y label --p scroe": "no column 'scroe' (--p). Did you mean 'score'?",
            "--y label --p-cols 'P_*' --method matrix --ridge x": "--ridge must be a number",
            "--y label --p score -o calib.csv": "must end in .json",
            "--y label --p score --clip 0.7": "clip must be a number above 0 and at most 0.1",
            "--y label --p score --time dya": "no column 'dya'",
            "--y label --p score --clip 1e-3 --method isotonic --ridge 1": "--method isotonic does not use --ridge",
        }.items():
            assert words in refused("recalibrate", "calib.parquet", arguments)

    def test_a_row_is_named_by_its_place_in_the_file(self, refused, folder):
        pl.DataFrame({"y": [0, 1, 1, 0], "p": [0.2, 0.9, 0.0, 0.4]}).write_csv("c.csv")
        sentence = refused("recalibrate", "c.csv", "--y y --p p --method logistic")
        assert "row 2" in sentence
        assert "in c.csv, y is column 'y'" in sentence


KINDS = {
    "binary": "--y label --p score",
    "classes": "--y label --p-cols 'P_*'",
    "intervals": "--y z --lower low50 --upper high50 --lower lo --upper hi --level 0.5 --level 0.8",
    "quantiles": "--y z --quantile-cols q90,q10,q50",
    "draw-cols": "--y z --draw-cols 'm?' --method location-scale",
}


# The columns of each kind, the prediction they are, and the columns of a prediction.
APPLIED = {
    "binary": (["score"], lambda x: x[:, 0], lambda p: p[:, None]),
    "classes": (["P_0", "P_1"], lambda x: x, lambda P: P),
    "intervals": (
        ["low50", "lo", "high50", "hi"],
        lambda x: cb.Intervals(x[:, :2], x[:, 2:], [0.5, 0.8]),
        lambda after: np.column_stack([after.lower, after.upper]),
    ),
    "quantiles": (["q10", "q50", "q90"], lambda x: cb.Quantiles(x, [0.1, 0.5, 0.9]), lambda after: after.values),
    "draw-cols": (["m1", "m2", "m3", "m4"], cb.Samples, lambda after: after.draws),
}


def test_options_are_spelled_as_they_are_typed(run, folder):
    """The fit exists for all rows, and in most folds it is refused."""
    score, label = [0.2, 0.3, 0.4, 0.6, 0.7, 0.8], [0, 0, 1, 0, 1, 1]
    pl.DataFrame({"p": score, "y": label}).write_csv(folder / "few.csv")
    done = run("recalibrate", "few.csv", "--y y --p p --method logistic --folds 2")
    assert done.code == 0
    assert "use --method logistic, --smoothing platt" in done.err
    isotonic = run("recalibrate", "few.csv", "--y y --p p --method isotonic")
    assert "--method isotonic gives probabilities of 0 and 1" in isotonic.err
    assert "--score brier" in isotonic.err


REFUSED_COPIES = {
    "binary": [
        ("--lower lo --upper hi", "the map was fitted on binary, and the options name intervals; use --p"),
        ("--by region", "--by names groups, and the map has none"),
        ("--p nothing", "has no column 'nothing' (--p)"),
        ("--p id", "must contain numbers"),
        ("--p 'P_*'", "--p names 2 columns: 'P_0', 'P_1'. Name one"),
        ("--p score,P_0", "--p names 2 columns: 'score', 'P_0'"),
    ],
    "classes": [("--p-cols P_0,P_0", "column 'P_0' is named twice by --p-cols")],
    "quantiles": [("--quantile-cols q10,q90", "the map was fitted on 3 levels, 0.1, 0.5, 0.9; --quantile-cols n")],
}


class TestApply:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("ending", ["parquet", "csv"])
    def test_every_kind_as_in_the_library(self, run, files, table, kind, ending):
        assert run("recalibrate", f"calib.{ending}", KINDS[kind], "--no-gain -o map.json").code == 0
        done = run("apply", "map.json", f"calib.{ending}", "-o", f"out.{ending}")
        assert (done.code, done.err) == (0, "")
        found = Recalibration.from_json(files / "map.json")
        assert found.method != "identity"
        names, make, columns_of = APPLIED[kind]
        after = columns_of(found.apply(make(table.select(names).to_numpy())))
        expected = dict(zip(names, after.T, strict=True))
        csv = {"schema_overrides": {"id": pl.String}}
        out = pl.read_parquet("out.parquet") if ending == "parquet" else pl.read_csv("out.csv", **csv)
        assert out.columns == [*table.columns, *(f"{name}_recalibrated" for name in expected)]
        assert out.select(table.columns).equals(table)
        for name, values in expected.items():
            np.testing.assert_allclose(out[f"{name}_recalibrated"].to_numpy(), values, rtol=1e-14)

    def test_lists_of_draws_and_vectors(self, run, folder):
        rng = np.random.default_rng(0)
        y, draws = rng.normal(size=(60, 2)) * 2, rng.normal(size=(60, 5, 2))
        frame = pl.DataFrame(
            {
                "a": y[:, 0],
                "b": y[:, 1],
                "of_a": pl.Series(draws[:, :, 0]).cast(pl.List(pl.Float64)),
                "of_b": pl.Series(draws[:, :, 1]).cast(pl.List(pl.Float64)),
                "whole": pl.Series(draws).cast(pl.List(pl.List(pl.Float64))),
                "both": pl.Series(y).cast(pl.List(pl.Float64)),
            }
        )
        frame.write_parquet("d.parquet")
        expected = recalibrate(y, cb.Samples(draws), method="location-scale").apply(cb.Samples(draws)).draws
        for arguments in (("--y", "a,b", "--draws", "of_a,of_b"), ("--y", "both", "--draws", "whole")):
            assert run("recalibrate", "d.parquet", *arguments, "--method location-scale --no-gain -o m.json").code == 0
            for ending in ("parquet", "ndjson"):
                done = run("apply", "m.json", "d.parquet", "-o", f"out.{ending}")
                assert (done.code, done.err) == (0, "")
                out = pl.read_parquet("out.parquet") if ending == "parquet" else pl.read_ndjson("out.ndjson")
                if "whole" in arguments:
                    after = np.array(out["whole_recalibrated"].to_list())
                else:
                    after = np.stack([np.array(out[f"of_{c}_recalibrated"].to_list()) for c in "ab"], axis=2)
                np.testing.assert_allclose(after, expected, rtol=1e-14)
        assert out.columns == [*frame.columns, "whole_recalibrated"]
        alone = "--y a --draws of_a --method location-scale --no-gain -o m.json"
        assert run("recalibrate", "d.parquet", alone).code == 0
        assert run("apply", "m.json", "d.parquet", "-o out.parquet").code == 0
        given = cb.Samples(draws[:, :, 0])
        one = recalibrate(y[:, 0], given, method="location-scale").apply(given).draws
        after = np.array(pl.read_parquet("out.parquet")["of_a_recalibrated"].to_list())
        np.testing.assert_allclose(after, one, rtol=1e-14)

    def test_sets(self, run, folder):
        columns = {"a": [True, False, True] * 4, "b": [False] * 12, "c": [True] * 12}
        frame = pl.DataFrame({"y": ["a", "b", "c"] * 4, **columns})
        for ending in ("parquet", "csv"):
            (frame.write_parquet if ending == "parquet" else frame.write_csv)(f"s.{ending}")
            done = run("recalibrate", f"s.{ending}", "--y y --set-cols a,b,c --level 0.8 --method relevel -o m.json")
            assert done.code == 0
            assert "become full" in done.err
            assert run("apply", "m.json", f"s.{ending}", "-o", f"out.{ending}").code == 0
        out = pl.read_csv("out.csv")
        assert out.schema["a_recalibrated"] == pl.Boolean
        assert out.select("a_recalibrated", "b_recalibrated", "c_recalibrated").to_numpy().all()  # a third is missed

    def test_columns_can_be_named(self, refused, run, files, table):
        found = recalibrate(table["label"].to_numpy(), table["score"].to_numpy(), method="logistic")
        found.to_json("map.json")
        sentence = refused("apply", "map.json", "calib.parquet", "-o out.parquet")
        assert "fitted in Python and does not say which columns it is for; add --p" in sentence
        done = run("apply", "map.json", "calib.parquet", "--p P_1 -o out.parquet --suffix _2")
        assert done.out == "600 rows recalibrated by logistic; new in out.parquet: 'P_1_2'\n"
        np.testing.assert_array_equal(column("out.parquet", "P_1_2"), found.apply(table["P_1"].to_numpy()))

    def test_existing_columns(self, refused, run, files, table):
        run("recalibrate", "calib.parquet", KINDS["binary"], "--no-gain -o map.json")
        assert run("apply", "map.json", "calib.parquet", "-o a.parquet").code == 0
        sentence = refused("apply", "map.json", "a.parquet", "-o b.parquet")
        assert "a.parquet has a column 'score_recalibrated' already; choose another --suffix" in sentence
        assert run("apply", "map.json", "a.parquet", "--overwrite-column -o b.parquet").code == 0
        assert pl.read_parquet("b.parquet").equals(pl.read_parquet("a.parquet"))
        done = run("apply", "map.json", "calib.parquet", "--suffix '' -o b.parquet")
        assert "has a column 'score' already" in done.err
        assert run("apply", "map.json", "calib.parquet", "--suffix '' --overwrite-column -o b.parquet").code == 0
        after = pl.read_parquet("b.parquet")
        assert after.columns == table.columns
        np.testing.assert_array_equal(after["score"].to_numpy(), column("a.parquet", "score_recalibrated"))

    def test_inputs_are_never_overwritten(self, refused, run, files):
        run("recalibrate", "calib.parquet", KINDS["binary"], "--no-gain -o map.json")
        (files / "link.parquet").symlink_to("calib.parquet")
        (files / "hard.parquet").hardlink_to("calib.parquet")
        (files / "map.parquet").symlink_to("map.json")
        before = (files / "calib.parquet").read_bytes()
        for target in ("calib.parquet", "link.parquet", "hard.parquet", "./calib.parquet", "map.parquet"):
            assert "would overwrite" in refused("apply", "map.json", "calib.parquet", "-o", target)
        assert (files / "calib.parquet").read_bytes() == before
        assert json.loads((files / "map.json").read_text())["method"] == "temperature"
        done = run("apply", "map.json", "calib.parquet")
        assert "name the file to write" in done.err

    @pytest.mark.parametrize("target", ["out.csv.gz", "out.TSV", "out.feather", "out.jsonl"])
    def test_endings(self, run, files, table, target):
        run("recalibrate", "calib.parquet", KINDS["binary"], "--no-gain -o map.json")
        assert run("apply", "map.json", "calib.csv", "-o", target).code == 0
        assert run("apply", "map.json", target, "--suffix _2 -o again.parquet").code == 0
        again = pl.read_parquet("again.parquet")["score_recalibrated"].cast(pl.Float64).to_numpy()
        np.testing.assert_allclose(column("again.parquet", "score_2"), again, rtol=1e-14)
        done = run("apply", "map.json", "calib.csv", "-o out.npz")
        assert "must end in .parquet or" in done.err

    @pytest.mark.parametrize("ending", ["parquet", "csv", "ndjson"])
    def test_bad_values_are_named_with_their_row(self, run, refused, files, ending, monkeypatch):
        monkeypatch.setattr("calibrant.cli.apply.BATCH", 70)  # the row lies in a later batch
        run("recalibrate", "calib.parquet", KINDS["binary"], "--no-gain -o map.json")
        frame = pl.DataFrame({"score": [0.5] * 298 + [None, 0.5, 1.5, 0.5]})
        {"parquet": frame.write_parquet, "csv": frame.write_csv, "ndjson": frame.write_ndjson}[ending](f"new.{ending}")
        sentence = refused("apply", "map.json", f"new.{ending}", "-o out.parquet")
        assert "row 300" in sentence
        assert f"new.{ending}" in sentence

    @pytest.mark.parametrize("kind", REFUSED_COPIES)
    def test_refusals(self, refused, run, files, kind):
        run("recalibrate", "calib.parquet", KINDS[kind], "--no-gain -o map.json")
        for arguments, words in REFUSED_COPIES[kind]:
            assert words in refused("apply", "map.json", "calib.parquet", arguments, "-o out.parquet")
        swapped = refused("apply", "calib.parquet", "map.json", "-o out.parquet")
        assert "calib.parquet: this map cannot be read" in swapped

    def test_unknown_group_and_unreadable_map(self, refused, run, files, table):
        message = refused("apply", "none.json", "calib.csv", "-o out.csv")
        assert message == "the map none.json cannot be read: No such file or directory. Check the path"
        bounds = "--y z --lower lo --upper hi --level 0.8 --by region"
        run("recalibrate", "calib.parquet", bounds, "--method scale --no-gain -o map.json")
        table.with_columns(region=pl.lit("west")).write_parquet("new.parquet")
        assert "no group 'west'" in refused("apply", "map.json", "new.parquet", "-o out.parquet")
        (files / "bad.json").write_text('{"format": "other"}')
        assert "bad.json" in refused("apply", "bad.json", "calib.parquet", "-o out.parquet")
        np.savez("a.npz", score=np.full(3, 0.5))
        done = run("apply", "map.json", "a.npz", "-o out.parquet")
        assert "Apply the map in Python" in done.err
