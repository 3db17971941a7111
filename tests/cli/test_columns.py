"""Which columns are meant, and which labels they stand for."""

from pathlib import Path

import pytest

from calibrant.cli.columns import Columns, choose, class_labels, join_labels, split_labels
from calibrant.cli.options import Request

FILE = Path("a.csv")


def test_patterns_keep_the_order_of_the_file_and_names_with_commas_between_their_own():
    for pattern, names, found in [
        ("p_*", ["p_b", "y", "p_a"], ("p_b", "p_a")),
        ("*_prob", ["a_prob", "b_prob", "prob"], ("a_prob", "b_prob")),
        ("p[01]", ["p0", "p1", "p2"], ("p0", "p1")),
        ("P_?", ["p_0", "P_0", "P_1"], ("P_0", "P_1")),
    ]:
        assert choose(["out", *names], FILE, Request(y="out", p_cols=pattern), "classes").p == found
    texts = {"b,a": ("b", "a"), "b, a": ("b", "a"), '"c, d",a': ("c, d", "a"), "q*,a": ("q1", "q2", "a")}
    texts |= {"q[1,2]": ("q1", "q2"), "c, d": ("c, d",), "x[y],a": ("x[y]", "a")}
    names = ["y", "a", "b", "c, d", "q1", "q2", "x[y]"]
    for text, found in texts.items():
        assert choose(names, FILE, Request(y="y", quantile_cols=text), "quantiles").p == found


def test_bounds_are_paired_in_the_order_they_are_named():
    names = ["y", "hi9", "hi5", "lo5", "lo9", "zero"]
    request = Request(y="y", lower=("lo5", "lo9"), upper=("hi5", "hi9"))
    chosen = choose(names, FILE, request, "intervals")
    assert chosen.p == ("lo5", "lo9", "hi5", "hi9")
    assert chosen.prediction == "lo5 to hi5, lo9 to hi9"
    assert choose(names, FILE, Request(y="y", lower=("lo*",), upper=("hi5", "hi9")), "intervals").p == chosen.p
    shared = choose(names, FILE, Request(y="y", lower=("zero", "zero"), upper=("hi5", "hi9")), "intervals")
    assert shared.p == ("zero", "zero", "hi5", "hi9")
    assert shared.named([0.5, 0.9], None).needed == ("y", "zero", "hi5", "hi9")


def test_every_column_is_read_once():
    chosen = choose(["y", "p", "g", "w"], FILE, Request(y="y", p="p", by=("g", "p", "g"), weights="w"), "binary")
    assert chosen.named([], None).needed == ("y", "p", "w", "g")
    assert chosen.by == ("g", "p")


def test_labels_with_commas_between():
    texts = {"a,b": ["a", "b"], "a, b": ["a", "b"], '"a,b",c': ["a,b", "c"], "1": ["1"], "": [], "a,,b": ["a", "", "b"]}
    assert {text: split_labels(text) for text in texts} == texts
    for labels in (["a", "b"], ["a, b", "c"], ['say "x"', "it's"], ["only"], ["théta", "x y"]):
        assert split_labels(join_labels(labels)) == labels


@pytest.mark.parametrize(
    ("values", "names", "pattern", "labels", "told"),
    [
        (["a", "b"], ["p_b", "p_a"], "p_*", ["b", "a"], "from the names of the columns: p_b is 'b', p_a is 'a'"),
        (["a"], ["a_p", "b_p"], "*_p", ["a", "b"], "from the names of the columns: a_p is 'a', b_p is 'b'"),
        ([0, 2], ["p_2", "p_0", "p_1"], "p_*", [2, 0, 1], "p_2 is 2, p_0 is 0, p_1 is 1"),
        ([1, 2], ["p1", "p2"], "p[12]", [1, 2], "from the names of the columns"),
        ([1.0, 2.0], ["p1", "p2"], "p?", [1.0, 2.0], "from the names of the columns"),
        ([True, False], ["p_false", "p_true"], "p_*", [False, True], "from the names of the columns"),
        (["a", "b"], ["b", "a"], "b,a", ["b", "a"], "from the names of the columns: b is 'b', a is 'a'"),
        ([0, 1], ["p_1", "p_2"], "p_*", None, "as column numbers: p_1 is 0, p_2 is 1"),
        ([0, 1], ["p_no", "p_yes"], "p_*", None, "as column numbers: p_no is 0, p_yes is 1"),
        ([0, 1], ["p_a", "p_b", "p_c", "p_d", "p_e"], "p_*", None, "p_a is 0, p_b is 1, p_c is 2, ..., p_e is 4"),
    ],
)
def test_class_labels(require, capsys, values, names, pattern, labels, told):
    y = require("polars").Series(values)
    assert class_labels(y, Columns(("y",), tuple(names), pattern), None) == labels
    assert told in capsys.readouterr().err


def test_given_labels_have_the_type_of_the_outcome(require, capsys):
    series, columns = require("polars").Series, Columns(("y",), ("p_x", "p_y"), "p_*")
    assert class_labels(series(["a", "b"]), columns, "b,a") == ["b", "a"]
    assert class_labels(series([1, 2]), columns, "2,1") == [2, 1]
    assert class_labels(series([True, False]), columns, "true,false") == [True, False]
    assert capsys.readouterr().err == ""


def test_labels_that_fit_no_column(require, refuses):
    series, columns = require("polars").Series, Columns(("y",), ("p_a", "p_b"), "p_*")
    strange = (["a", "z"], "'z'"), ([0, 5], "5"), ([0.5, 1.0], "0.5")
    words = "the label {} of column 'y' fits none of the columns 'p_a', 'p_b'."
    refuses(class_labels, [(series(values), columns, None, words.format(shown)) for values, shown in strange])
