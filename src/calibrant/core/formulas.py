r"""Names that users write as formulas, such as ``$\theta_1$``, as text that every reader can see: θ₁.

Pages and terminals have no typesetting. A formula with anything but letters, Greek letters, indices and powers is left
as it was written.
"""

from __future__ import annotations

import re
import unicodedata

NAMED = {"log": "log ", "ln": "ln ", "exp": "exp ", "ell": "ℓ", "infty": "∞", "ast": "*", "prime": "′"}
STYLES = ("mathrm", "text", "mathit", "mathbf", "rm", "textrm", "operatorname")
LOW = dict(zip("0123456789+-=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
HIGH = dict(zip("0123456789+-=()in", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁱⁿ", strict=True))
_FORMULA = re.compile(r"(?<!\\)\$(?=\S)([^$\n]{1,60})(?<=[^\s\\])\$(?!\d)")
_PARTS = re.compile(r"(?:\\[A-Za-z]+|[A-Za-z0-9α-ωΑ-Ω+\-=()\[\],.*'| _^{}])*")
_INNERMOST = re.compile(r"([_^]?)(?:\{([^{}_^]*)\}|(?<=[_^])([^{}_^]))")  # a group or symbol, and whether it is moved
_KEPT_SIGNS = {"_": "\1", "^": "\2"}  # stand for signs that stay, as there are no such letters


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
    if not re.search(r"[\\_^]", formula) or re.search("[_^][_^]", formula) or not _PARTS.fullmatch(formula):
        return None
    try:
        text = re.sub(r"\\([A-Za-z]+)", lambda found: _symbol(found[1]), formula)
    except KeyError:
        return None
    while _INNERMOST.search(text):
        text = _INNERMOST.sub(lambda found: _moved((found[2] or found[3] or ""), found[1]), text)
    found = text.strip()
    return found.replace("\1", "_").replace("\2", "^") if found and not set(found) & set("_^{}") else None


def _symbol(name: str) -> str:
    """Return what a command writes; a Greek letter is a capital one if the name has a capital.

    >>> _symbol("theta"), _symbol("Sigma"), _symbol("varphi"), _symbol("lambda")
    ('{θ}', '{Σ}', '{φ}', '{λ}')
    """
    if name in STYLES:
        return ""  # what is in braces after it is written as it is
    size = "CAPITAL" if name[:1].isupper() else "SMALL"
    letter = name.removeprefix("var").upper().replace("LAMBDA", "LAMDA")  # as Unicode spells it
    return f"{{{NAMED.get(name) or unicodedata.lookup(f'GREEK {size} LETTER {letter}')}}}"


def _moved(text: str, sign: str) -> str:
    """Return an index or a power; with its sign if there are no such letters. Without a sign the text stays."""
    if not sign:
        return text
    letters, inner = LOW if sign == "_" else HIGH, text.strip()
    if all(letter in letters for letter in inner):
        return "".join(letters[letter] for letter in inner)
    return f"{_KEPT_SIGNS[sign]}{inner}" if len(inner) == 1 or inner.isalnum() else f"{_KEPT_SIGNS[sign]}({inner})"
