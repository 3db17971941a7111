"""The grammar of --where, and what each filter keeps."""

import datetime as dt
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.files.scan import scan
from calibrant.files.where import Clause, quoted, read_where

CLAUSES = {
    "age>=65": Clause("age", ">=", ("65",)),
    "  age  ==  65 ": Clause("age", "==", ("65",)),
    "age = -1.5e3": Clause("age", "=", ("-1.5e3",)),
    "'two words' != 'it''s'": Clause("two words", "!=", ("it's",)),
    '"say ""so""" < "a and b"': Clause('say "so"', "<", ("a and b",)),
    "`tick` > new-york": Clause("tick", ">", ("new-york",)),
    "region IN (north, 'far east',3)": Clause("region", "in", ("north", "far east", "3")),
    "and = in": Clause("and", "=", ("in",)),
    "x is null": Clause("x", "null", ()),
    "x is not NULL": Clause("x", "not null", ()),
    "x IS NOT NULL": Clause("x", "not null", ()),
    "not is Not null": Clause("not", "not null", ()),
    "größe <= 3": Clause("größe", "<=", ("3",)),
    '"" = ""': Clause("", "=", ("",)),
}


def test_clauses():
    assert {text: read_where(text).clauses for text in CLAUSES} == {text: (one,) for text, one in CLAUSES.items()}
    where = read_where("a = 1 and b in (x) AND a < 3")
    assert [clause.column for clause in where.clauses] == ["a", "b", "a"]
    assert where.columns == ("a", "b")


WRONG = ["", "age", "age >", "age > > 3", "age ~ 3", "age in 3", "age in (3", "age in (3 4)", "age in ()", "age is 3"]
WRONG += ["age is NOT", "age is 'not' null", "age = 'x", "(age) > 3", "__import__('os').system('true')"]
RESTS = {"age > 3 or x = 2": "or x = 2", "age > 3 x": "x", "age > 3 and": "and", "age > 3 and x": "x"}


def test_what_is_no_filter(refusal):
    for text, rest in {**{text: text for text in WRONG}, **RESTS}.items():
        message = refusal(read_where, text)
        assert message.startswith(f"where={text!r} is not a filter: it cannot be read from {rest!r} on. ")
        assert ("For one of several values write: column in (a, b)" in message) == rest.startswith("or")


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    with suppress(InputError):
        assert read_where(text).clauses


@given(st.text(min_size=1, max_size=20))
def test_a_quoted_column_is_read_back(name):
    assert read_where(f"{quoted(name)} = 1").columns == (name,)


@pytest.fixture
def kept(require):
    """Return a function that tells which rows a filter keeps."""
    pl = require("polars")
    frame = pl.DataFrame(
        {
            "row": [0, 1, 2, 3],
            "whole": [1, 2, 3, None],
            "small": pl.Series([1, 2, 3, 4], dtype=pl.UInt8),
            "real": [0.1, float("nan"), None, 2.0],
            "single": pl.Series([0.1, 0.2, 0.3, 0.4], dtype=pl.Float32),
            "nan": [0.1, float("nan"), 3.0, 2.0],
            "void": pl.Series([None] * 4, dtype=pl.Null),
            "truth": [True, False, None, True],
            "text": ["a", "b'c", "65", None],
            "kind": pl.Series(["a", "b", "a", None], dtype=pl.Categorical),
            "choice": pl.Series(["a", "b", "a", None], dtype=pl.Enum(["b", "a"])),
            "price": pl.Series([1, 2, 3, 4], dtype=pl.Decimal(10, 2)),
            "day": [dt.date(2024, 1, d) for d in (1, 2, 3, 4)],
            "moment": pl.Series([dt.datetime(2024, 1, d) for d in (1, 2, 3, 4)]).dt.replace_time_zone("Europe/Berlin"),
            "many": [[1], [2], [3], [4]],
            "*": [1, 2, 3, 4],
            "^r.*$": [1, 2, 3, 4],
            "huge": pl.Series([2**63 + k for k in range(4)], dtype=pl.Int128),
        }
    )

    def rows(text):
        plain = {name: str(i) for i, name in enumerate(frame.columns)}
        rows = frame.clone()
        rows.columns = list(plain.values())
        return rows.filter(read_where(text).expression(frame.schema, plain))["0"].to_list()

    return rows


KEPT = [
    ("whole > 1", [1, 2]),
    ("whole < 2.5", [0, 1]),
    ("whole != 1", [1, 2]),
    ("whole in (1, 3, 7.5)", [0, 2]),
    ("small < 1000", [0, 1, 2, 3]),
    ("small > -1", [0, 1, 2, 3]),
    ("small in (4, 1000, -1)", [3]),
    ("whole < 1000000000000000000000000000000", [0, 1, 2]),
    ("real <= 1", [0]),
    ("real > 0", [0, 3]),
    ("real >= 0", [0, 3]),
    ("real != 0", [0, 3]),
    ("real != 2", [0]),
    ("huge = 9223372036854775809", [1]),
    ("huge > 9223372036854775808", [1, 2, 3]),
    ("huge in (9223372036854775811, 9223372036854775808)", [0, 3]),
    ("real is null", [1, 2]),
    ("real is not null", [0, 3]),
    ("text is null", [3]),
    ("nan is null", [1]),
    ("nan is not null", [0, 2, 3]),
    ("void > 3", []),
    ("single = 0.1", [0]),
    ("single in (0.1, 0.4)", [0, 3]),
    ("truth = TRUE", [0, 3]),
    ("truth = 0", [1]),
    ("text = a", [0]),
    ('text = "b\'c"', [1]),
    ("text = 65", [2]),
    ("text in ('a', 65)", [0, 2]),
    ("kind = a", [0, 2]),
    ("kind = nowhere", []),
    ("choice = nowhere", []),
    ("choice > a", [1]),
    ("price >= 2.5", [2, 3]),
    ("day >= 2024-01-03", [2, 3]),
    ("moment < '2024-01-02 12:00'", [0, 1]),
    ("moment < 2024-01-02T00:00+01:00", [0]),
    ("'*' > 3", [3]),
    ("'^r.*$' = 2", [1]),
    ("whole > 1 and kind = a", [2]),
]


def test_rows_that_are_kept(kept, refuses):
    assert [(text, kept(text)) for text, _ in KEPT] == KEPT
    cases = [
        ("whole > many", "'many' (where=) is not a value of column 'whole', which contains numbers"),
        ("whole = nan", "which contains numbers"),
        ("whole = 1_000", "which contains numbers"),
        ("truth = yes", "which contains true and false"),
        ("day > yesterday", "which contains dates such as 2024-12-31"),
        ("many = 1", "which contains values of type List(Int64)"),
    ]
    refuses(kept, cases)


@pytest.mark.parametrize("value", ["2024-01-03", "2024-01-02T18:30Z", "'2024-01-03 00:00'"])
def test_moments_with_an_offset_as_their_zone(tmp_path, write, columns, require, value):
    pa = require("pyarrow")
    days = [dt.datetime(2024, 1, day, tzinfo=dt.timezone(dt.timedelta(hours=5.5))) for day in (1, 2, 3, 4)]
    rows = {"y": columns["y"][:4], "p": columns["p"][:4], "when": pa.array(days, pa.timestamp("us", tz="+05:30"))}
    (batch,) = scan(write(tmp_path / "a.parquet", rows), y="y", prediction="p", where=f"when >= {value}").batches()
    assert batch.prediction.tolist() == columns["p"][2:4].tolist()


def test_nan_is_kept_by_no_comparison(tmp_path, write, columns):
    """100 of 400 incomes are not known; whoever asks for the high ones does not mean these."""
    income = np.where(np.arange(400) % 4 == 0, np.nan, np.arange(400.0))
    rows = {"y": columns["y"][:400], "p": columns["p"][:400], "income": income}
    file = write(tmp_path / "a.parquet", rows)
    known = ~np.isnan(income)
    rows_of = {"> 200": income > 200, ">= 200": income >= 200, "!= 201": known & (income != 201), "< 200": income < 200}
    for text, kept in {**rows_of, "is null": ~known, "is not null": known}.items():
        found = scan(file, y="y", prediction="p", where=f"income {text}").measure("brier_score")["brier_score"].value
        assert found == pytest.approx(np.mean((rows["y"][kept] - rows["p"][kept]) ** 2), rel=1e-12), text
    with pytest.raises(InputError, match="keeps none of the rows"):
        scan(file, y="y", prediction="p", where="income > 1000000").measure("brier_score")
