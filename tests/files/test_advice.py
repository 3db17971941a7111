"""Advice is true for whoever gets it: what a sentence says of options can be typed as it stands."""

import ast
import codecs
import inspect
import re
from pathlib import Path

import pytest

import calibrant.files
from calibrant.files.csv_file import DELIMITERS, MARKS, read_delimiter
from calibrant.files.scan import scan
from calibrant.files.table_file import FORMATS

FOLDER = Path(calibrant.files.__file__).parent
ACCEPTED = {"where": str, "format": FORMATS.index, "delimiter": read_delimiter, "encoding": codecs.lookup}
ACCEPTED |= {"decimal_comma": bool}
PLACE = re.compile(r"\{(\w+)=('[^']*')?")


def named_options():
    """Return the options, with a literal value if they have one, that templates in files name."""
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not re.search(r"--[a-z]", node.value), f"{path.name} speaks of an option: {node.value}"
                yield from PLACE.findall(node.value)


def test_every_option_is_a_keyword_that_scan_takes():
    named = list(named_options())
    assert {name for name, _ in named} == set(ACCEPTED)
    assert len(named) >= 10
    for name, value in named:
        assert name in inspect.signature(scan).parameters
        if value:
            ACCEPTED[name](ast.literal_eval(value))


def test_every_delimiter_and_encoding_that_is_advised_is_taken():
    for delimiter, typed in DELIMITERS.items():
        assert read_delimiter(typed) == delimiter
    for encoding in (*MARKS.values(), "utf-16-le", "utf-16-be"):
        codecs.lookup(encoding)


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("a.csv", b"y\tp\n0\t0.5\n", {"delimiter": "tab"}),
        ("a.csv", b"y;p\n0;0.5\n", {"delimiter": ";"}),
        ("a.tsv", b"y|p\n0|0.5\n", {"delimiter": "|"}),
        ("a.csv", "y,p\n0,0.5\n".encode("utf-16"), {"encoding": "utf-16"}),
        ("a.csv", "y,p\n0,0.5\n".encode("utf-16-be"), {"encoding": "utf-16-be"}),
        ("a.csv", "y,p,é\n0,0.5,é\n".encode("cp1252"), {"encoding": "cp1252"}),
    ],
)
def test_advice_that_is_taken(require, tmp_path, refusal, name, content, advice):
    require("polars")
    (tmp_path / name).write_bytes(content)

    def measure(**options):
        return scan(tmp_path / name, y="y", prediction="p", **options).measure("brier_score")["brier_score"].value

    ((option, value),) = advice.items()
    assert f"Add {option}={value!r}" in refusal(measure)
    assert measure(**advice) == 0.25


def test_what_must_be_named(require, tmp_path, refuses):
    require("polars")
    for name in ("rows", "a.csv"):
        (tmp_path / name).write_bytes(b"y,p,\xe9\n0,0.5,1\n")
    cases = [
        ("rows", {}, "say which (format=): 'parquet', 'csv', 'arrow', 'ndjson', 'npz'"),
        ("a.csv", {"encoding": "ascii"}, "Name the encoding it was written in (encoding=)"),
    ]
    words = "delimiter must be one character, such as ';' or '|', or the word tab; got {!r}"
    cases += [("a.csv", {"delimiter": given}, words.format(given)) for given in ("::", "", "é", '"', "\n", 3)]
    refuses(lambda name, options: list(scan(tmp_path / name, y="y", prediction="p", **options).batches()), cases)
