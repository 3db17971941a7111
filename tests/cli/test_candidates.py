"""Columns that are not named: what is taken, and what is asked."""

import shlex

import numpy as np
import pytest

RNG = np.random.default_rng(2)
PRICE = RNG.normal(100, 10, 60)
WIDTHS = {"lo80": -13, "hi80": 13, "lo90": -16, "hi90": 16}
BOUNDS = {name: np.full(60, 100.0 + width) for name, width in WIDTHS.items()}
DRAWS, RAIN = RNG.random((40, 9)), RNG.random(40)
MEMBERS = {f"a.member_{k}": PRICE + k for k in range(3)}
EVENTS, SCORES = np.arange(60) % 2, np.linspace(0.1, 0.9, 60)
P = RNG.dirichlet([1, 1, 1], 60)
CLASSES = {"p_dog": P[:, 0], "p_cat": P[:, 1], "p_bird": P[:, 2]}
LABELS = np.array(["dog", "cat", "bird"])[np.arange(60) % 3]


@pytest.fixture
def write(folder, require):
    """Return a function that writes columns to a file of the current folder and returns its name."""

    def written(columns, name="a.parquet"):
        pl = require("polars")
        if name.endswith(".npz"):
            np.savez(folder / name, **columns)
        else:
            plain = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in columns.items()}
            frame = pl.DataFrame(plain)
            frame.write_csv(folder / name) if name.endswith(".csv") else frame.write_parquet(folder / name)
        return name

    return written


@pytest.fixture
def asked(refused):
    """Return a function that runs a command that lacks columns, and returns the question and the command to type."""

    def answer(*arguments, lines=5):
        question, *candidates, intro, command = refused(*arguments, lines=lines).split("\n")
        assert intro == "type, for instance:"
        return question, [line.partition(": ")[2] for line in candidates], shlex.split(command)

    return answer


YES_NO = np.where(EVENTS, "Yes", "no")
PLAIN = {"lower": BOUNDS["lo80"], "upper": BOUNDS["hi80"]}
TWO_LEVELS = "--lower lo80 --upper hi80 --level 0.8 --lower lo90 --upper hi90 --level 0.9"
TAKEN = {
    "events": ({"id": range(60), "y": EVENTS, "score": SCORES}, "", "--y y --p score"),
    "outcome alone": ({"y": EVENTS, "score": SCORES}, "--p score", "--y y"),
    "prediction alone": ({"y": EVENTS, "score": SCORES, "name": LABELS}, "--y y", "--p score"),
    "labels": ({"gone": YES_NO, "p": SCORES}, "--confidence 0.9", "--y gone --pos-label Yes --p p"),
    "truth": ({"flag": EVENTS == 1, "p": SCORES}, "", "--y flag --p p"),
    "columns with another role": (
        {"y": EVENTS, "p": SCORES, "sex": np.where(np.arange(len(EVENTS)) % 3, "f", "m"), "w": SCORES},
        "--by sex --weights w",
        "--y y --p p",
    ),
    "names for a shell": ({"it; rm -rf /": EVENTS, "$(reboot)": SCORES}, "", "--y 'it; rm -rf /' --p '$(reboot)'"),
    "classes": ({"pet": LABELS, **CLASSES}, "", "--y pet --p-cols 'p_*'"),
    "bounds": ({"price": PRICE, **BOUNDS}, "", f"--y price {TWO_LEVELS}"),
    "bounds whose level was typed": ({"price": PRICE, **PLAIN}, "--level 0.5", "--y price --lower lower --upper upper"),
    "outcome of bounds": ({"price": PRICE, **PLAIN}, "--lower lower --upper upper --level 0.8", "--y price"),
    "quantiles": (
        {"price": PRICE, "q95": BOUNDS["hi90"], "q05": BOUNDS["lo90"], "q50": BOUNDS["lo80"]},
        "",
        "--y price --quantile-cols 'q*'",
    ),
    "outcome of sets": (
        {"pet": LABELS, "a": P[:, 0] > 0.2, "b": P[:, 1] > 0.2, "c": P[:, 2] > 0.2, "size": PRICE},
        "--set-cols a,b,c --level 0.9 --classes dog,cat,bird --by a --by b --by c",
        "--y pet",
    ),
    "outcome of draws": ({"rain": RAIN, "members": DRAWS}, "--draws members", "--y rain"),
    "numbered draws": ({"price": PRICE, **MEMBERS}, "", "--y price --draw-cols 'a.member_*'"),
    "an index": ({"": range(60), "y": EVENTS * 1.0, "p": SCORES}, "", "--y y --p p"),
    "an index and bounds": ({"": range(60), "price": PRICE, **BOUNDS}, "", f"--y price {TWO_LEVELS}"),
    "a predicted label": ({"y_true": EVENTS, "y_pred": SCORES > 0.5, "y_prob": SCORES}, "", "--y y_true --p y_prob"),
    "percentages": ({"y": EVENTS, "confidence": 100 * SCORES}, "", "--y y --p confidence --percent"),
    "percentages, typed": ({"y": EVENTS, "x": EVENTS + range(60)}, "--percent", "--y y --p x"),
}
ARRAYS = {
    "numbered columns": ({"y": EVENTS, "prob0": SCORES, "prob1": 1 - SCORES}, "--y y --p-cols 'prob*'"),
    "classes": ({"y": np.arange(60) % 3, "P": P}, "--y y --p-cols 'P_*'"),
    "draws": ({"y": np.arange(40.0), "draws": DRAWS}, "--y y --draws draws"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_one_candidate_each_is_taken(run, write, case):
    columns, options, words = TAKEN[case]
    command = ("audit", write(columns), *shlex.split(options))
    done = run(*command)
    assert done.code == 0, done
    assert done.err.splitlines()[0] == f"calibrant: taken from a.parquet, where no other columns fit: {words}"
    assert run(*command, *shlex.split(words)).out == done.out


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_that_are_taken(run, write, case):
    columns, words = ARRAYS[case]
    done = run("audit", write(columns, "a.npz"))
    assert (done.code, done.err.splitlines()[0].partition("fit: ")[2]) == (0, words)


def test_other_commands_take_them_too(run, write):
    name, told = write({"y": EVENTS, "p": SCORES}), "taken from a.parquet, where no other columns fit: --y y --p p\n"
    for command in (("check", name, "--fail-if", "ece > 0.999"), ("recalibrate", name, "--no-gain")):
        done = run(*command)
        assert (done.code, done.err) == (0, f"calibrant: {told}")


def test_names_decide_between_several(run, write, for_each):
    def check(columns, others, words):
        columns = {name: np.asarray(values) for name, values in columns.items()}
        done = run("audit", write(columns))
        why = f"by their names, though {others} would fit too"
        assert (done.code, done.err.splitlines()[0]) == (0, f"calibrant: taken from a.parquet, {why}: {words}")

    ages = {"age": np.arange(60), "actual": PRICE, "low90": PRICE - 1, "high90": PRICE + 1}
    cases = {
        "a feature": ({"member": EVENTS, "Label": EVENTS, "score": SCORES}, "'member'", "--y Label --p score"),
        "a share": ({"left": EVENTS, "share": SCORES, "proba": SCORES}, "'share'", "--y left --p proba"),
        "both": (
            {"m": EVENTS, "outcome": EVENTS, "a": SCORES, "y_score": SCORES},
            "'m', 'a'", "--y outcome --p y_score",
        ),
        "an age": (ages, "'age'", "--y actual --lower low90 --upper high90 --level 0.9"),
    }  # fmt: skip
    for_each(cases, check)


ROW = np.arange(100)
STEPS = {"h": ROW % 4, "lo-80": ROW - 1.0, "hi-80": ROW + 1.0}
ASKED = {  # columns, options, candidates for the outcome, candidates for the prediction, words of the command to type
    "two outcomes": (
        {"left": EVENTS, "churned": np.where(EVENTS, "yes", "no"), "p": SCORES},
        "", "'left' (0 and 1), 'churned' ('no' and 'yes')", "'p' (0.1 to 0.9)", "--y left --p p",
    ),
    "labels that name no event": (
        {"side": np.where(EVENTS, "a", "b"), "p": SCORES},
        "", "'side' ('a' and 'b')", "'p' (0.1 to 0.9)", "--y side --pos-label b --p p",
    ),
    "no names": (
        {"name": ["a", "b", "c"], "size": [10, 20, 30]},
        "", "none of them", "none of them", "--y COLUMN --p COLUMN",
    ),
    "a pattern that would match too much": (
        {"pet": LABELS, **CLASSES, "p_note": LABELS},
        "", "none of them", "'p_dog'", "--y COLUMN --p p_dog",
    ),
    "bounds without a level": (
        {"price": PRICE, **PLAIN}, "", "'price'", "'lower and upper' (lower and upper bounds)",
        "--y price --lower lower --upper upper --level NUMBER",
    ),
    "bounds in the wrong order": (
        {"price": PRICE, "lower": BOUNDS["hi80"], "upper": BOUNDS["lo80"]},
        "", "none of them", "none of them", "--y COLUMN --p COLUMN",
    ),
    "bounds and a share": (
        {"price": PRICE, **BOUNDS, "share": SCORES, "size": np.arange(60) % 9},
        "", "'price'", "'lo80 and hi80, lo90 and hi90' (lower and upper bounds), 'share'", f"--y price {TWO_LEVELS}",
    ),
    "draws and a share": (
        {"rain": RAIN, "wet": RAIN[::-1], "members": DRAWS},
        "", "'rain'", "'members' (9 numbers per row), 'rain'", "--y rain --draws members",
    ),
    "numbered columns that are not draws": (
        {"rain": PRICE, **{f"x{k}": PRICE + k for k in range(3)}},
        "", "none of them", "none of them", "--y COLUMN --p COLUMN",
    ),
    "a pattern of draws that would match too much": (
        {"rain": PRICE, "member_1": PRICE, "member_2": PRICE, "member_mean": PRICE},
        "", "none of them", "none of them", "--y COLUMN --p COLUMN",
    ),
    "a column called y": (
        {"h": PRICE, "lo": np.full(60, -3.0), "hi": np.full(60, 3.0), "y": PRICE},
        "", "'y'", "'lo and hi'", "--y y --lower lo --upper hi --level NUMBER",
    ),
    "a horizon and y": ({**STEPS, "y": ROW % 2}, "", "'y' (by its name", "'lo-80 and hi-80'",
                        "--y y --lower lo-80 --upper hi-80 --level 0.8"),
    "two names": ({"y": EVENTS, "label": EVENTS, "p": SCORES, "score": SCORES},
                  "", "'y' (0 and 1), 'label'", "'p' (0.1 to 0.9), 'score'", "--y y --p p"),
    "a predicted label alone": ({"y_pred": EVENTS, "p": SCORES}, "", "none of them", "'p'", "--y COLUMN --p p"),
    "a name among kinds": (
        {"pet": LABELS, **CLASSES, "confidence": P.max(1)},
        "", "'pet' (3 values)", "'p_*' (3 columns that sum to 1), 'confidence'", "--y pet --p-cols 'p_*'",
    ),
    "a score of 0 to 100": ({"y": EVENTS, "score": 100 * SCORES}, "", "'y'", "'score' (10 to 90, percentages?)",
                            "--y y --p score --percent"),
    "a scale of 0 to 10": ({"y": EVENTS, "confidence": np.arange(60) % 11}, "", "'y'",
                           "'confidence' (0 to 10, percentages?)", "--y y --p confidence --percent"),
    "1 beside 2": ({"y": EVENTS + 1, "p": SCORES}, "", "'y' (1 and 2)", "'p'", "--y y --pos-label 2 --p p"),
    "a side": ({"side": np.where(EVENTS, "right", "left"), "p": SCORES}, "", "'side' ('left' and 'right')", "'p'",
               "--y side --pos-label right --p p"),
    "a name against values": (
        {"h": ROW % 2 + 1, "y": ROW / 7, "p": ROW / 100},
        "", "'y' (by its name; Float64), 'h' (1 and 2)", "'p'", "--y y --p p",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ASKED)
def test_several_or_none_are_asked(asked, write, case):
    columns, options, outcomes, predictions, words = ASKED[case]
    _, candidates, command = asked("audit", write(columns), *shlex.split(options))
    assert candidates[0].startswith(outcomes)
    assert candidates[1].startswith(predictions)
    assert command == ["calibrant", "audit", "a.parquet", *shlex.split(f"{options} {words}")]


def test_question(asked, data, run):
    question, _, command = asked("audit", data, "--by segment --confidence 0.9")
    assert question == (
        "which column is the outcome (--y) and which the prediction (--p)? data.csv has 'id', 'left', 'churned', "
        "'score', 'segment', 'age', 'w'"
    )
    assert command == shlex.split("calibrant audit data.csv --by segment --confidence 0.9 --y left --p score")
    assert run(*command[1:]).code == 0
    question, candidates, _ = asked("audit", data, "--p score", lines=4)
    assert question.startswith("which column is the outcome (--y)? ")
    assert len(candidates) == 1


def test_arrays_of_draws(asked, write, run):
    arrays = {"theta": RNG.random((40, 2)), "draws": RNG.random((40, 9, 2)), "x": RAIN}
    question, candidates, command = asked("audit", write(arrays, "a.npz"))
    assert question.endswith("? a.npz has 'theta', 'draws', 'theta_0', 'theta_1', 'x'")
    assert candidates[0].startswith("'theta' (2 numbers per row), 'theta_0' (")
    assert candidates[1].startswith("'draws' (9 vectors of 2 per row), 'theta' (2 numbers per")
    assert command == shlex.split("calibrant audit a.npz --y theta --draws draws")
    assert run(*command[1:]).code == 0
    y = RNG.normal(size=40)
    sides = {"lower": np.column_stack([y - 1, y - 2]), "upper": np.column_stack([y + 1, y + 2])}
    # The whole of an array of bounds is not draws.
    assert "'lower'" not in asked("audit", write({"y": y, **sides}, "a.npz"))[1][1]


def test_columns_of_every_type(asked, folder, require):
    pl = require("polars")
    columns = {"list": [[1], [2], [3]], "struct": [{"a": 1}, {"a": 2}, {"a": 3}], "null": [None, None, None]}
    columns |= {"bytes": [b"a", b"b", b"c"], "nan": [float("nan")] * 3, "some": [0.5, float("nan"), None]}
    columns |= {"flag": [True, False, None], "other": [1, 0, 1], "p": [0.25, 0.5, 0.75]}
    pl.DataFrame(columns).write_parquet(folder / "a.parquet")
    assert asked("audit", "a.parquet")[1] == ["'flag' (true and false), 'other' (0 and 1)", "'p' (0.25 to 0.75)"]


def test_many_rows_are_judged_by_the_first(asked, write):
    columns = {"x": [0, 1] * 6000, "z": [0, 1] * 6000, "p": np.linspace(0, 1, 12_000)}
    assert asked("audit", write(columns))[0].endswith("a.parquet has 'x', 'z', 'p', judged by the first 10,000 rows")
