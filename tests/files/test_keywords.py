"""Advice is true for whoever gets it: what a sentence says of options can be typed as it stands."""

import ast
import codecs
import inspect
import re
from pathlib import Path

import pytest

import calibrant.files
from calibrant.errors import InputError
from calibrant.files.csv_file import DELIMITERS, MARKS, read_delimiter
from calibrant.files.keywords import as_keywords, spelled_as_keywords
from calibrant.files.scan import scan
from calibrant.files.table_file import FORMATS

FOLDER = Path(calibrant.files.__file__).parent
FILLED = {
    ("csv_file.py", "DELIMITERS[most]"): DELIMITERS.values(),
    ("csv_file.py", "found"): [*MARKS.values(), "utf-16-le", "utf-16-be"],
    ("table_file.py", "found"): FORMATS,
    ("where.py", "shown(self.text)"): ["'age >'", '"it\'s"'],
    ("rows_in_words.py", "shown(where.text)"): ["'age > 3'"],
}
"""What stands in the places of a sentence; a place that is not named here gets a word."""
ACCEPTED = {
    "where": str,
    "format": FORMATS.index,
    "delimiter": read_delimiter,
    "encoding": codecs.lookup,
}
KEYWORD = re.compile(r"(?<!\w)(\w+)=('[^']*'|\"[^\"]*\"|)(?=[ .,;:)]|$)")


def sentences():
    """Return what files say about options, as templates: each with the module and the texts of its places."""
    for path in sorted(FOLDER.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            new = id(node) not in docstrings | inside and path.name != "keywords.py"
            if new and any(re.search(r"--[a-z]", text) for text in texts):
                yield path.name, parts


def filled(module, parts):
    """Return a sentence, once with each of what may stand in its places."""
    found = [""]
    for part in parts:
        place = ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else None
        values = [part.value] if place is None else FILLED.get((module, place), ["word"])
        found = [text + value for text in found for value in values]
    return found


SENTENCES = [
    pytest.param(text, id=f"{module}-{k}")
    for k, (module, parts) in enumerate(sentences())
    for text in filled(module, parts)
]


def test_sentences_are_found():
    assert len(SENTENCES) > 15
    assert all(any(name == module for name, _ in sentences()) for module, _ in FILLED)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_option_becomes_a_keyword_that_scan_takes(sentence):
    with pytest.raises(InputError) as caught, as_keywords():
        raise InputError(sentence)
    words = str(caught.value)
    assert "--" not in words
    named = KEYWORD.findall(words)
    assert len(named) == sentence.count("--")
    for name, value in named:
        assert name in inspect.signature(scan).parameters
        if value:
            ACCEPTED[name](ast.literal_eval(value))


@pytest.mark.parametrize(
    "untrue",
    ["add --format parquet|csv|npz", "Add the --encoding that it was written with", "Add --delimiter comma", "--p x"],
)
def test_the_test_above_can_fail(untrue):
    with pytest.raises((AssertionError, LookupError, InputError)):
        test_every_option_becomes_a_keyword_that_scan_takes(untrue)


def test_what_names_no_option_is_raised_as_it_is():
    problem = InputError("there are no rows")
    with pytest.raises(InputError) as caught, as_keywords():
        raise problem
    assert caught.value is problem


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


def test_the_format_is_one_that_is_listed(require, tmp_path, refusal):
    require("polars")
    (tmp_path / "rows").write_text("y,p\n0,0.5\n")
    message = refusal(lambda: list(scan(tmp_path / "rows", y="y", prediction="p").batches()))
    assert message.endswith("say which (format=): 'parquet', 'csv', 'arrow', 'ndjson', 'npz'")
    assert len(list(scan(tmp_path / "rows", y="y", prediction="p", format="csv").batches())) == 1


def test_an_encoding_that_it_is_not(require, tmp_path, refusal):
    require("polars")
    (tmp_path / "a.csv").write_bytes(b"y,p,\xe9\n0,0.5,1\n")
    message = refusal(lambda: list(scan(tmp_path / "a.csv", y="y", prediction="p", encoding="ascii").batches()))
    assert message.endswith("Name the encoding it was written in (encoding=)")


@pytest.mark.parametrize("delimiter", ["::", "", "é", '"', "\n", 3])
def test_no_delimiter(tmp_path, refusal, delimiter):
    (tmp_path / "a.csv").write_text("y,p\n0,0.5\n")
    message = refusal(scan, tmp_path / "a.csv", y="y", prediction="p", delimiter=delimiter)
    assert message == f"delimiter must be one character, such as ';' or '|', or the word tab; got {delimiter!r}"


def test_words_that_are_no_values():
    assert spelled_as_keywords("--where 'a long one that is cut... is no filter").startswith("where='a long one")
    assert spelled_as_keywords("rows that --where keeps; add --delimiter") == "rows that where= keeps; add delimiter="
