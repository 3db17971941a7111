"""Every error that calibrant raises on purpose, and how values are shown in messages."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from string import Formatter
from typing import Any, NamedTuple, Self, TypeVar

# Control characters except tab, line feed and carriage return, and halves of broken characters.
_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff"
_UNPRINTABLE = _CONTROL + "\t\r\u200e\u200f\u202a-\u202e\u2066-\u2069"  # also marks that change the writing direction


class Place(NamedTuple):
    """A place in a message whose words depend on the reader: the row, or an option with or without its value."""

    row: bool = False
    option: str = ""
    value: Any = None


def as_keyword(option: str, value: Any) -> str:
    """Return an option as Python spells it: ``bins=`` or ``format='csv'``."""
    return f"{option}=" if value is None else f"{option}={shown(value)}"


class CalibrantError(Exception):
    """Base class of all errors that calibrant raises on purpose.

    If any field is given, the message is a template: ``{row}`` becomes the row in words, ``{value}`` the value,
    ``{option}`` the option, and any other name the field of that name. ``{classes=}``, ``{crossed='swap'}`` and
    ``{where=value}`` become options as the reader types them; the last one takes its value from a field. Without
    fields the message is used unchanged, braces included.

    Examples
    --------
    >>> error = InputError("p must lie in [0, 1]; {row} is {value}. See {bins=}", row=7, value=1.5)
    >>> print(error)
    p must lie in [0, 1]; row 7 is 1.5. See bins=
    >>> error.row, error.in_words(lambda name, value: f"--{name}")
    (7, 'p must lie in [0, 1]; row 7 is 1.5. See --bins')
    """

    def __init__(self, message: str = "", /, **fields: Any) -> None:
        self.parts = _parts(message, fields) if fields else (message,)
        self.row: int | None = fields.get("row")
        self.option: str | None = fields.get("option")
        self.value: Any = fields.get("value")
        self.file: str | None = fields.get("file")
        self.place: str | None = fields.get("place")
        super().__init__(self.in_words())

    def __str__(self) -> str:
        return self.in_words()

    def __reduce__(self) -> tuple[Any, ...]:
        state = {**self.__dict__, "value": self.value if isinstance(self.value, PLAIN) else shown(self.value)}
        return _rebuilt, (type(self), state)

    def in_words(self, option: Callable[[str, Any], str] = as_keyword) -> str:
        """Return the message; `option` writes an option and its value, if it has one."""
        row = self.place or f"row {self.row}"
        return "".join(
            part if isinstance(part, str) else row if part.row else option(part.option, part.value)
            for part in self.parts
        )

    def within(
        self,
        before: str = "",
        after: str = "",
        /,
        *,
        row: int | None = None,
        place: str | None = None,
        file: object = None,
        **fields: Any,
    ) -> Self:
        """Return the same error with more context: words before and after it, and the place of its row.

        `before` and `after` are templates; `place` gives the words for the row, where its number alone is not enough.
        """
        *parts, last = self.parts
        end = last.rstrip(".") if after and isinstance(last, str) else last
        found = _rebuilt(type(self), dict(self.__dict__))
        found.parts = (*_parts(before, {**fields, "file": file}), *parts, end, *_parts(after, {**fields, "file": file}))
        found.row = self.row if row is None else row
        found.place = self.place if place is None else place
        found.file = self.file if file is None else str(file)
        found.args = (found.in_words(),)
        return found


PLAIN = (str, int, float, type(None))
E = TypeVar("E", bound=CalibrantError)


def _rebuilt(kind: type[E], state: dict[str, Any]) -> E:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.args = (error.in_words(),)
    return error


def _parts(message: str, fields: dict[str, Any]) -> tuple[str | Place, ...]:
    """Split a template into texts and places; only the words of places depend on the reader."""
    found: list[str | Place] = []
    for text, name, spec, _ in Formatter().parse(message):
        found.append(text)
        if name is None:
            continue
        option, equals, given = name.partition("=")
        if name == "row":
            found.append(Place(row=True))
        elif name == "option":
            found.append(Place(option=fields["option"]))
        elif equals:
            literal = given[:1] in ("'", '"')
            value = given[1:-1] if literal else None if not given else fields[given]
            found.append(Place(option=option, value=value))
        elif name == "value":
            found.append(shown(fields["value"]))
        else:
            found.append(format(fields[name], spec or ""))
    return tuple(found) or ("",)


class InputError(CalibrantError, ValueError):
    """The data or an option cannot be used for this measurement."""


class CallError(InputError, TypeError):
    """A call lacks an argument or has one too many."""


class NotApplicableError(InputError):
    """The data are valid, but this measurement does not apply to them."""


class SummaryError(CalibrantError, ValueError):
    """A summary cannot be merged, read back, or used for this measurement."""


class MissingExtraError(CalibrantError, ImportError):
    """An optional library is not installed."""

    def __init__(self, purpose: str, *, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional library that is not installed; pip install 'calibrant[{extra}]'")


def shown(value: Any) -> str:
    """Return `value` as messages show it: plain Python, at most 60 characters, whatever the value is.

    >>> shown(0.5), shown(10**5000), shown([10**5000])
    ('0.5', 'a whole number of about 5,001 digits', 'a list that cannot be shown')
    """
    try:
        if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
            value = value.item()
        text = repr(value)
    except Exception:  # an error message must not fail on the value that it refuses
        return _without_repr(value)
    if "\n" in text:
        text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def _without_repr(value: Any) -> str:
    """Describe a value whose `repr` fails, such as a whole number of more than 4,300 digits."""
    if type(value) is int:
        return f"a whole number of about {math.floor(math.log10(abs(value))) + 1:,} digits"
    return f"a {type(value).__name__} that cannot be shown"


def without_control(text: str) -> str:
    r"""Replace the control characters that XML and HTML cannot contain.

    >>> without_control("a\x00b")
    'a\ufffdb'
    """
    return re.sub(f"[{_CONTROL}]", "\ufffd", text)


def printable(text: object, *, one_line: bool = False) -> str:
    r"""Return a text with unprintable characters spelled out; with `one_line` also line ends.

    >>> printable("run\t7\n"), printable("run\t7\n", one_line=True)
    ('run\\t7\n', 'run\\t7\\n')
    """
    pattern = f"[{_UNPRINTABLE}\n\u2028\u2029]" if one_line else f"[{_UNPRINTABLE}]"
    return re.sub(pattern, lambda found: found[0].encode("unicode_escape").decode("ascii"), str(text))


def refuse_choice(name: str, value: object, choices: tuple[object, ...]) -> InputError:
    """Return the error for an option that is not one of its choices."""
    listed = listing(choices, most=len(choices))
    return InputError("{name} must be one of {listed}; got {value}", name=name, listed=listed, option=name, value=value)


def did_you_mean(word: str, known: Iterable[str], *, spelled: Callable[[str], str] = shown) -> str:
    """Return a question that names the closest known word, or an empty text.

    >>> did_you_mean("SCROE", ["label", "score"])
    "Did you mean 'score'?"
    """
    close = closest(word, known)
    return f"Did you mean {spelled(close)}?" if close else ""


def closest(word: str, known: Iterable[str]) -> str:
    """Return the closest known word, or an empty text."""
    by_folded = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.75)
    return by_folded[close[0]] if close else ""


def listing(names: Sequence[object], *, most: int = 12) -> str:
    """Return the first names separated by commas, and how many more there are.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    listed = ", ".join(shown(name) for name in names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most:,} more"
