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
