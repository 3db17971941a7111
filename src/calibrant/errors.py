"""Every error calibrant raises on purpose, and how its sentences are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from string import Formatter
from typing import Any, NamedTuple, Self, TypeVar


class Place(NamedTuple):
    """A place in a message whose words depend on the reader: the row, or an option and its value, if it has one."""

    row: bool = False
    option: str = ""
    value: Any = None


def as_keyword(option: str, value: Any) -> str:
    """Return an option as Python spells it: ``bins=`` or ``format='csv'``."""
    return f"{option}=" if value is None else f"{option}={shown(value)}"


class CalibrantError(Exception):
    """Base of all errors that calibrant raises on purpose.

    The message is a template if any field is given: ``{row}`` is the row in words, ``{value}`` what came,
    ``{option}`` the option, and any other name the field of that name. ``{classes=}``, ``{crossed='swap'}`` and
    ``{where=value}`` name options as the reader types them; the last one takes its value from a field. Without fields
    the message is taken as it is, so braces in it are just braces.

    Attributes
    ----------
    row, option, value, file
        The row (counted from 0), option, value and file that the error is about, or None.
    place
        The words for the row, where its number alone will not do.

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
        """Return the message; `option` spells an option and its value, if it has one."""
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
        """Return the same error, told by someone who knows more: words around it, and where its row is.

        `before` and `after` are templates; `place` are the words for the row, where its number alone will not do.
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
    """Return a template as texts and places; only the words of places depend on the reader."""
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
    """The data or an option is not what a measurement can be made from."""


class NotApplicableError(InputError):
    """The data are sound, but this measurement says nothing about them."""


class SummaryError(CalibrantError, ValueError):
    """A summary cannot be merged, read back, or used for this measurement."""


class MissingExtraError(CalibrantError, ImportError):
    """An optional library is not installed."""

    def __init__(self, purpose: str, *, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional library that is not installed; pip install 'calibrant[{extra}]'")


def shown(value: Any) -> str:
    """Return `value` as a message shows it: plain Python, never longer than a line, whatever it is.

    >>> shown(0.5), shown(10**5000), shown([10**5000])
    ('0.5', 'a whole number of about 5,001 digits', 'a list that cannot be shown')
    """
    try:
        if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
            value = value.item()
        text = repr(value)
    except Exception:  # the words of a refusal must not fail on what is refused
        return _unprintable(value)
    if "\n" in text:
        text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def _unprintable(value: Any) -> str:
    """Name a value that has no `repr`: Python writes no whole number of more than 4,300 digits."""
    if type(value) is int:
        return f"a whole number of about {math.floor(math.log10(abs(value))) + 1:,} digits"
    return f"a {type(value).__name__} that cannot be shown"


def refuse_choice(name: str, value: object, choices: tuple[object, ...]) -> InputError:
    """Return the error for an option that is not one of its choices."""
    listed = listing(choices, most=len(choices))
    return InputError("{name} must be one of {listed}; got {value}", name=name, listed=listed, option=name, value=value)


def did_you_mean(word: str, known: Iterable[str], *, spelled: Callable[[str], str] = shown) -> str:
    """Return a question that names the closest known word, or nothing.

    >>> did_you_mean("SCROE", ["label", "score"])
    "Did you mean 'score'?"
    """
    by_folded = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.75)
    return f"Did you mean {spelled(by_folded[close[0]])}?" if close else ""


def listing(names: Sequence[object], *, most: int = 12) -> str:
    """Return the names with commas, and how many more there are.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    listed = ", ".join(shown(name) for name in names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most:,} more"
