"""The fields and words of errors, and what a message shows of a value: at most a line, and no failure of its own."""

import ast
import pickle
from pathlib import Path
from string import Formatter

import numpy as np
import pytest

import calibrant
from calibrant.errors import CalibrantError, InputError, MissingExtraError, SummaryError, did_you_mean, listing, shown


class Silent:
    def __repr__(self):
        raise ZeroDivisionError


class Broken:
    @property
    def item(self):
        raise OSError

    def __repr__(self):
        return "Broken()"


def endless():
    found = []
    for _ in range(100_000):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (np.float32(0.5), "0.5"),
        (np.array(3), "3"),
        ("a  b", "'a  b'"),
        (np.array([[1, 2], [3, 4]]), "array([[1, 2], [3, 4]])"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16..."),
        (10**4000, "1" + "0" * 56 + "..."),
        (10**5000, "a whole number of about 5,001 digits"),
        (-(10**5000) - 7, "a whole number of about 5,001 digits"),
        (np.array(10**5000, dtype=object), "a whole number of about 5,001 digits"),
        ([1, 10**5000], "a list that cannot be shown"),
        (Silent(), "a Silent that cannot be shown"),
        (Broken(), "a Broken that cannot be shown"),
        (endless(), "a list that cannot be shown"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shown(value, text):
    assert shown(value) == text


@pytest.mark.parametrize(
    ("word", "answer"), [("scroe", "Did you mean 'score'?"), ("SCORE", "Did you mean 'score'?"), ("xyz", ""), ("", "")]
)
def test_did_you_mean(word, answer):
    assert did_you_mean(word, ["left", "score", "segment"]) == answer


def test_did_you_mean_an_option():
    assert did_you_mean("bin", ["norm", "bins"], spelled="{}=".format) == "Did you mean bins=?"


def test_listing():
    assert listing(["a", "b"]) == "'a', 'b'"
    assert listing([f"c{i}" for i in range(1500)], most=2) == "'c0', 'c1' and 1,498 more"


def as_option(name, value):
    return f"--{name}" if value is None else f"--{name} {value}"


class TestFields:
    def test_a_row_a_value_and_options(self):
        error = InputError("{row} is {value} of {n:,}; pass {bins=} or {crossed='swap'}", row=7, value="a", n=1234)
        assert str(error) == "row 7 is 'a' of 1,234; pass bins= or crossed='swap'"
        assert error.in_words(as_option) == "row 7 is 'a' of 1,234; pass --bins or --crossed swap"
        assert (error.row, error.value, error.option, error.file) == (7, "a", None, None)

    def test_the_value_of_an_option_from_a_field(self):
        error = InputError("{where=text} keeps no rows ({option})", text="a > 3", option="where")
        assert str(error) == "where='a > 3' keeps no rows (where=)"
        assert error.in_words(as_option) == "--where a > 3 keeps no rows (--where)"

    @pytest.mark.parametrize("hostile", ["{row}", "{", "}", "{{}}", "{x!r:>{y}}", "{bins=}"])
    def test_braces_of_a_user_are_braces(self, hostile):
        assert str(InputError(f"got {hostile}")) == f"got {hostile}"
        error = InputError("{name}: {row} is {value}", name=hostile, row=1, value=hostile)
        assert str(error) == f"{hostile}: row 1 is {hostile!r}"
        around = error.within("{file}: ", " ({name})", file=hostile, name=hostile)
        assert str(around) == f"{hostile}: {hostile}: row 1 is {hostile!r} ({hostile})"
        assert str(InputError(hostile).within("{file}: ", file="a")) == f"a: {hostile}"

    def test_braces_of_a_template(self):
        assert str(InputError("{{x}} is {value}", value=1)) == "{x} is 1"

    def test_an_edge_that_knows_where_the_row_is(self):
        error = InputError("p must lie in [0, 1]; {row} is {value}.", row=7, value=1.5)
        told = error.within("{file}: ", " ({where=})", row=107, place="row 107 of b.csv", file="b.csv")
        assert str(told) == "b.csv: p must lie in [0, 1]; row 107 of b.csv is 1.5 (where=)"
        assert (told.row, told.file, told.value) == (107, "b.csv", 1.5)
        assert str(error) == "p must lie in [0, 1]; row 7 is 1.5."
        again = told.within("batch {n}: ", n=3)
        assert (again.row, again.file) == (107, "b.csv")
        assert str(again) == f"batch 3: {told}"

    @pytest.mark.parametrize("kind", [CalibrantError, InputError, SummaryError])
    def test_between_processes(self, kind):
        error = kind("{row} is {value}; pass {bins=}", row=3, value=lambda: None).within("{file}: ", file="a.csv")
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is kind
        assert str(back) == str(error) == back.args[0]
        assert (back.row, back.file) == (3, "a.csv")
        assert back.in_words(as_option).endswith("pass --bins")

    def test_a_missing_library_between_processes(self):
        error = MissingExtraError("reading a.csv", extra="cli")
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
        assert str(error.within("{file}: ", file="a.csv")) == f"a.csv: {error}"

    def test_a_template_names_its_fields(self):
        with pytest.raises(KeyError):
            InputError("{row} is {nothing}", row=1)


ERRORS = ("InputError", "NotApplicableError", "SummaryError", "CalibrantError", "within", "refusal")


def raised():
    """Yield each call that makes an error: the place, the name, the template as far as it is written, the fields."""
    root = Path(calibrant.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in ERRORS and all(keyword.arg for keyword in node.keywords):
                texts = [
                    part for argument in node.args for part in ast.walk(argument) if isinstance(part, ast.Constant)
                ]
                template = "".join(part.value for part in texts if isinstance(part.value, str))
                place = f"{path.relative_to(root)}:{node.lineno}"
                yield place, name, template, {keyword.arg for keyword in node.keywords}


def test_every_template_has_its_fields():
    """A template without a field fails where a sentence is needed, and a field without a place says nothing."""
    seen = 0
    for place, name, template, fields in raised():
        known = fields | ({"file", "row", "counting"} if name in ("within", "refusal") else set())
        if not known:
            assert "{row}" not in template, f"{place} names a row without the field"
            continue
        seen += 1
        for _, field, _, _ in Formatter().parse(template):
            option, equals, value = (field or "").partition("=")
            needed = value if equals and value[:1] not in ("'", "") else "" if equals else option
            assert not needed or needed in known, f"{place} has no field {needed!r}"
    assert seen > 60
