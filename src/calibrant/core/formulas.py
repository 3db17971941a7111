r"""Names that users write as formulas, such as ``$\theta_1$``, as text that every reader can see: θ₁.

Pages and terminals have no typesetting. A formula with anything but letters, Greek letters, indices and powers is left
as it was written.
"""

from __future__ import annotations

import re
import unicodedata

NAMED = {"log": "log ", "ln": "ln ", "exp": "exp ", "ell": "ℓ", "infty": "∞", "ast": "*", "prime": "′"}
STYLES = ("mathrm", "text", "mathit", "mathbf", "rm", "textrm", "operatorname")  # what they contain is written as it is
LOW = dict(zip("0123456789+-=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
HIGH = dict(zip("0123456789+-=()in", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁱⁿ", strict=True))
_FORMULA = re.compile(r"(?<!\\)\$(?=\S)([^$\n]{1,60})(?<=[^\s\\])\$(?!\d)")
_TOKEN = re.compile(r"\\([A-Za-z]+)|([_^])|\{|\}|([A-Za-z0-9α-ωΑ-Ω+\-=()\[\],.*'| ])")


def readable(text: str) -> str:
    r"""Return a text in which simple formulas are written with Greek letters, indices and powers.

    >>> readable(r"$\theta_{10}$"), readable(r"shift of $\log\sigma^2$"), readable(r"$\mu_{age}$")
    ('θ₁₀', 'shift of log σ²', 'μ_age')

    Dollars that are not around a formula stay, and so does a formula that has no such text:

    >>> readable("$0-$100"), readable(r"$\frac{a}{b}$"), readable("$$"), readable("costs $5 or $6")
    ('$0-$100', '$\\frac{a}{b}$', '$$', 'costs $5 or $6')
    """
    return _FORMULA.sub(lambda found: _written(found[1]) or found[0], text) if "$" in text else text


def _written(formula: str) -> str | None:
    """Return a formula as text; None if that cannot be done, or nothing in it is one."""
    if not re.search(r"[\\_^]", formula):
        return None
    try:
        found, rest = _sequence(_tokens(formula), closed=False)
    except ValueError:
        return None
    return None if rest or not found.strip() else found.strip()


def _tokens(formula: str) -> list[str]:
    found, place = [], 0
    while place < len(formula):
        match = _TOKEN.match(formula, place)
        if match is None:
            raise ValueError(formula)
        found.append(match[0])
        place = match.end()
    return found


def _sequence(tokens: list[str], *, closed: bool) -> tuple[str, list[str]]:
    """Return the text of tokens up to a closing brace, or all, and the tokens that are left."""
    words = ""
    while tokens:
        if tokens[0] == "}":
            if not closed:
                raise ValueError("}")
            return words, tokens[1:]
        if tokens[0] in "_^":
            sign = tokens[0]
            inner, tokens = _one(tokens[1:])
            words += _moved(inner.strip(), sign)
            continue
        part, tokens = _one(tokens)
        words += part
    if closed:
        raise ValueError("{")
    return words, []


def _one(tokens: list[str]) -> tuple[str, list[str]]:
    """Return the text of one symbol or group, and the tokens that are left."""
    if not tokens or tokens[0] in "_^}":
        raise ValueError("nothing")
    token, rest = tokens[0], tokens[1:]
    if token == "{":
        return _sequence(rest, closed=True)
    if not token.startswith("\\"):
        return token, rest
    name = token[1:]
    if name in STYLES:
        return _one(rest)
    return NAMED.get(name) or _greek(name), rest


def _greek(name: str) -> str:
    """Return a Greek letter by its name, a capital one if the name has a capital.

    >>> _greek("theta"), _greek("Sigma"), _greek("varphi"), _greek("lambda")
    ('θ', 'Σ', 'φ', 'λ')
    """
    size = "CAPITAL" if name[:1].isupper() else "SMALL"
    letter = name.removeprefix("var").upper().replace("LAMBDA", "LAMDA")  # as Unicode spells it
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {letter}")
    except KeyError:
        raise ValueError(name) from None


def _moved(text: str, sign: str) -> str:
    """Return an index or a power; with its sign if there are no such letters."""
    letters = LOW if sign == "_" else HIGH
    if all(letter in letters for letter in text):
        return "".join(letters[letter] for letter in text)
    return f"{sign}{text}" if len(text) == 1 or text.isalnum() else f"{sign}({text})"
