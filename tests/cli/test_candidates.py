"""What is shown when columns are not named."""

import shlex

import numpy as np
import pytest


@pytest.fixture
def asked(refused):
    """Return a function that runs a command that lacks columns, and returns the question and the command to type."""

    def answer(*arguments, lines=5):
        question, *candidates, intro, command = refused(*arguments, lines=lines).split("\n")
        assert intro == "type, for instance:"
        return question, candidates, shlex.split(command)

    return answer


def test_outcome_and_prediction(asked, data, run):
    question, candidates, command = asked("audit", data, "--by", "segment", "--confidence", "0.9")
    assert question == (
        "which column is the outcome (--y) and which the prediction (--p)? data.csv has 'id', 'left', 'churned', "
        "'score', 'segment', 'age', 'w'"
    )
    assert candidates[0].startswith("  could be the outcome: 'left' (0 and 1), 'churned' ('no' and 'yes'), 'segment' (")
    assert candidates[1].startswith("  could be the prediction: 'score' (")
    assert command == shlex.split("calibrant audit data.csv --by segment --confidence 0.9 --y left --p score")
    assert run(*command[1:]).code == 0


def test_only_what_is_missing(asked, data):
    question, candidates, command = asked("audit", data, "--p", "score", lines=4)
    assert question.startswith("which column is the outcome (--y)? ")
    assert len(candidates) == 1
    assert command == shlex.split("calibrant audit data.csv --p score --y left")
    question, candidates, command = asked("audit", data, "--y", "left", lines=4)
    assert question.startswith("which column is the prediction (--p)? ")
    assert command == shlex.split("calibrant audit data.csv --y left --p score")


def test_labels_name_the_event(asked, folder, frame, run):
    frame.select("churned", "score").write_csv(folder / "my data.csv")
    _, _, command = asked("audit", "my data.csv")
    assert command == ["calibrant", "audit", "my data.csv", *shlex.split("--y churned --pos-label yes --p score")]
    assert run(*command[1:]).code == 0


def test_class_vectors(asked, folder, vectors, run):
    vectors.write_parquet(folder / "pets.parquet")
    _, candidates, command = asked("audit", "pets.parquet")
    assert candidates == [
        "  could be the outcome: 'pet' (3 values)",
        "  could be the prediction: 'p_*' (3 columns that sum to 1)",
    ]
    assert command == ["calibrant", "audit", "pets.parquet", "--y", "pet", "--p-cols", "p_*"]
    assert run(*command[1:]).code == 0


def test_numbered_columns(asked, folder):
    P = np.random.default_rng(0).dirichlet([1, 1], 50)
    np.savez(folder / "a.npz", y=np.arange(50) % 2, prob0=P[:, 0], prob1=P[:, 1])
    _, _, command = asked("audit", "a.npz")
    assert command[-4:] == ["--y", "y", "--p-cols", "prob*"]


def test_pattern_that_would_match_too_much_is_not_offered(asked, folder, vectors):
    import polars as pl

    vectors.with_columns(p_note=pl.lit("x")).write_parquet(folder / "pets.parquet")
    _, candidates, _ = asked("audit", "pets.parquet")
    assert "p_*" not in candidates[1]


def test_nothing_fits(asked, folder):
    (folder / "a.csv").write_text("name,size\na,10\nb,20\nc,30\n")
    _, candidates, command = asked("audit", "a.csv")
    assert candidates == ["  could be the outcome: none of them", "  could be the prediction: none of them"]
    assert command == shlex.split("calibrant audit a.csv --y COLUMN --p COLUMN")


def test_columns_of_every_type(asked, folder, require):
    pl = require("polars")
    frame = pl.DataFrame(
        {
            "list": [[1], [2], [3]],
            "struct": [{"a": 1}, {"a": 2}, {"a": 3}],
            "null": [None, None, None],
            "bytes": [b"a", b"b", b"c"],
            "nan": [float("nan")] * 3,
            "some": [0.5, float("nan"), None],
            "flag": [True, False, None],
            "p": [0.25, 0.5, 0.75],
        }
    )
    frame.write_parquet(folder / "a.parquet")
    _, candidates, command = asked("audit", "a.parquet")
    assert candidates == [
        "  could be the outcome: 'flag' (true and false)",
        "  could be the prediction: 'p' (0.25 to 0.75)",
    ]
    assert command[-4:] == ["--y", "flag", "--p", "p"]


def test_many_rows_are_judged_by_the_first(asked, folder, require):
    pl = require("polars")
    pl.DataFrame({"y": [0, 1] * 6000, "p": np.linspace(0, 1, 12_000)}).write_parquet(folder / "a.parquet")
    question, _, _ = asked("audit", "a.parquet")
    assert question.endswith("a.parquet has 'y', 'p', judged by the first 10,000 rows")


def test_names_are_quoted_for_the_shell(asked, folder, frame):
    frame.select(frame["left"].alias("it's; rm -rf /"), frame["score"].alias("$(reboot)")).write_csv(folder / "a.csv")
    _, _, command = asked("audit", "a.csv")
    assert command[-4:] == ["--y", "it's; rm -rf /", "--p", "$(reboot)"]


@pytest.fixture
def prices(require):
    """Return a frame with bounds at two levels and quantiles."""
    rng = np.random.default_rng(2)
    price = rng.normal(100, 10, 60)
    reach = {"lo80": -13, "hi80": 13, "lo90": -16, "hi90": 16}
    return require("polars").DataFrame(
        {
            "price": price,
            **{name: 100 + gap + 0 * price for name, gap in reach.items()},
            "share": rng.random(60),
            "size": rng.integers(1, 9, 60),
        }
    )


def test_bounds(asked, folder, prices, run):
    prices.write_csv(folder / "a.csv")
    question, candidates, command = asked("audit", "a.csv")
    assert question.startswith("which column is the outcome (--y) and which the prediction (--lower and --upper)? ")
    assert candidates[0].startswith("  could be the outcome: 'price' (")
    assert "'size' (1 to 8)" in candidates[0]
    assert "lo80" not in candidates[0]
    assert candidates[1].startswith(
        "  could be the prediction: 'lo80 and hi80, lo90 and hi90' (lower and upper bounds), 's"
    )
    assert command == shlex.split(
        "calibrant audit a.csv --y price --lower lo80 --upper hi80 --level 0.8 --lower lo90 --upper hi90 --level 0.9"
    )
    assert run(*command[1:]).code == 0


@pytest.mark.parametrize(("options", "level"), [((), ["--level", "NUMBER"]), (("--level", "0.5"), [])])
def test_level_of_bounds_is_asked_for(asked, folder, prices, options, level):
    prices.select("price", lower="lo80", upper="hi80").write_csv(folder / "a.csv")
    _, _, command = asked("audit", "a.csv", *options)
    assert command[-len(level) - 6 :] == ["--y", "price", "--lower", "lower", "--upper", "upper", *level]


def test_bounds_in_the_wrong_order_are_none(asked, folder, prices):
    prices.select("price", lower="hi80", upper="lo80").write_csv(folder / "a.csv")
    _, candidates, _ = asked("audit", "a.csv")
    assert candidates[1] == "  could be the prediction: none of them"


def test_quantiles(asked, folder, prices):
    prices.select("price", q95="hi90", q05="lo90", q50="lo80").write_csv(folder / "a.csv")
    question, candidates, command = asked("audit", "a.csv")
    assert "the prediction (--quantile-cols)" in question
    assert candidates[1] == "  could be the prediction: 'q*' (3 columns, each at least the one before)"
    assert command == shlex.split("calibrant audit a.csv --y price --quantile-cols 'q*'")


def test_outcome_of_named_bounds(asked, folder, prices, run):
    prices.write_csv(folder / "a.csv")
    _, candidates, command = asked("audit", "a.csv", "--lower", "lo80", "--upper", "hi80", "--level", "0.8", lines=4)
    assert len(candidates) == 1
    assert command[-2:] == ["--y", "price"]
    assert run(*command[1:]).code == 0


def test_outcome_of_sets(asked, folder, vectors):
    vectors.with_columns(a=vectors["p_dog"] > 0.2, b=vectors["p_cat"] > 0.2).write_parquet(folder / "a.parquet")
    _, candidates, _ = asked("audit", "a.parquet", "--set-cols", "a,b", "--level", "0.9", lines=4)
    assert candidates[0].startswith("  could be the outcome: 'pet' (3 values)")


@pytest.fixture
def weather(require):
    """Return a frame with an outcome between 0 and 1, a share, and lists of draws."""
    rng = np.random.default_rng(5)
    columns = {"rain": rng.random(40), "wet": rng.random(40), "members": rng.random((40, 9)).tolist()}
    return require("polars").DataFrame(columns)


def test_lists_of_draws(asked, folder, weather, run):
    weather.write_parquet(folder / "a.parquet")
    question, candidates, command = asked("audit", "a.parquet")
    assert question.startswith(
        "which column is the outcome (--y) and which the prediction (--draws)? a.parquet has 'rain'"
    )
    assert candidates[0].startswith("  could be the outcome: 'rain' (")
    assert candidates[1].startswith("  could be the prediction: 'members' (9 numbers per row), 'rain' (")
    assert command == shlex.split("calibrant audit a.parquet --y rain --draws members")
    assert run(*command[1:]).code == 0


def test_outcome_of_named_draws(asked, folder, weather):
    weather.write_parquet(folder / "a.parquet")
    _, candidates, command = asked("audit", "a.parquet", "--draws", "members", lines=4)
    assert "members" not in candidates[0]
    assert command[-2:] == ["--y", "rain"]


def test_arrays_of_draws(asked, folder, run):
    rng = np.random.default_rng(6)
    np.savez(folder / "a.npz", theta=rng.random((40, 2)), draws=rng.random((40, 9, 2)), x=rng.random(40))
    question, candidates, command = asked("audit", "a.npz")
    assert question.endswith("? a.npz has 'theta', 'draws', 'theta_0', 'theta_1', 'x'")
    assert candidates[0].startswith("  could be the outcome: 'theta' (2 numbers per row), 'theta_0' (")
    assert candidates[1].startswith(
        "  could be the prediction: 'draws' (9 vectors of 2 per row), 'theta' (2 numbers per"
    )
    assert command == shlex.split("calibrant audit a.npz --y theta --draws draws")
    assert run(*command[1:]).code == 0


def test_columns_of_an_array_of_draws_are_no_probabilities(asked, folder):
    np.savez(folder / "a.npz", y=np.arange(40.0), draws=np.random.default_rng(6).random((40, 9)))
    _, candidates, command = asked("audit", "a.npz")
    assert candidates == [
        "  could be the outcome: 'y' (0 to 39)",
        "  could be the prediction: 'draws' (9 numbers per row)",
    ]
    assert command[-4:] == ["--y", "y", "--draws", "draws"]


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (["member_1", "member_2", "member_3"], "member_*"),
        (["rain.draw01", "rain.draw02", "rain.draw03"], "rain.draw*"),
        (["x1", "x2", "x3"], None),
        (["member_1", "member_2", "member_mean"], None),
    ],
)
def test_numbered_draws(asked, folder, require, names, pattern):
    rng = np.random.default_rng(7)
    columns = {"rain": rng.normal(size=40), **{name: rng.normal(size=40) for name in names}}
    require("polars").DataFrame(columns).write_csv(folder / "a.csv")
    _, candidates, command = asked("audit", "a.csv")
    if pattern is None:
        assert candidates[1] == "  could be the prediction: none of them"
    else:
        assert candidates[1] == f"  could be the prediction: {pattern!r} (3 numbered columns)"
        assert command == ["calibrant", "audit", "a.csv", "--y", "rain", "--draw-cols", pattern]


def test_other_arrays_are_what_they_were(asked, folder):
    """The whole of an array whose columns are bounds or class probabilities is not offered as draws."""
    rng = np.random.default_rng(8)
    y, P = rng.normal(size=40), rng.dirichlet([1, 1, 1], 40)
    np.savez(folder / "a.npz", y=y, lower=np.column_stack([y - 1, y - 2]), upper=np.column_stack([y + 1, y + 2]))
    assert "'lower'" not in asked("audit", "a.npz")[1][1]
    np.savez(folder / "b.npz", y=np.arange(40) % 3, P=P)
    assert asked("audit", "b.npz")[1][1] == "  could be the prediction: 'P_*' (3 columns that sum to 1)"


def test_a_column_called_y_comes_first(asked, folder, require):
    rng = np.random.default_rng(3)
    rows = {"h": rng.normal(size=50), "lo": np.full(50, -3.0), "hi": np.full(50, 3.0), "y": rng.normal(size=50)}
    require("polars").DataFrame(rows).write_csv(folder / "a.csv")
    _, candidates, command = asked("audit", "a.csv")
    assert candidates[0].startswith("  could be the outcome: 'y' (")
    assert command[3:7] == ["--y", "y", "--lower", "lo"]


@pytest.mark.parametrize("y", [[0, 1] * 50, list(range(100))])
def test_a_column_called_like_an_outcome_comes_before_others(asked, folder, require, y):
    """A horizon of two or four steps looks like an event or a number, but there is a column y."""
    pl, rows = require("polars"), np.arange(100)
    bounds = {"h": rows % 4, "y": y, "lo-80": rows - 1.0, "hi-80": rows + 1.0}
    pl.DataFrame(bounds).write_csv(folder / "a.csv")
    assert asked("audit", "a.csv")[2][3:5] == ["--y", "y"]
    pl.DataFrame({"h": rows % 2 + 1, "y": [k / 7 for k in rows], "p": rows / 100}).write_csv(folder / "b.csv")
    _, candidates, command = asked("audit", "b.csv")
    assert candidates[0] == "  could be the outcome: 'y' (by its name; Float64), 'h' (1 and 2)"
    assert command == ["calibrant", "audit", "b.csv", "--y", "y", "--p", "p"]
