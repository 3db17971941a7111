"""Sentences about draws: the verdict of an audit."""

from __future__ import annotations

import math

from calibrant.audit.sample_looks import Look
from calibrant.audit.sections import Setting
from calibrant.audit.words import NAMED, percent, pvalue_words, rows_needed
from calibrant.inference.rank_failure import NONE, UNINFORMATIVE
from calibrant.results import Verdict
from calibrant.results.explanation import Explanation

NOTABLE = 1.25  # a spread that is wrong by a quarter
CALM = (NONE, UNINFORMATIVE)


def sample_verdict(
    explained: Explanation, marginal: Look, joint: list[Look], conditional: list[Look], setting: Setting
) -> Verdict:
    """Return the verdict on draws: every look counts, and all together hold the level.

    `explained` says what is wrong with each coordinate at the level that this leaves to it.
    """
    looks = [marginal, *joint, *conditional]
    tests = len(looks) * setting.families
    p = min(1.0, tests * min(look.pvalue for look in looks))
    if p < 1 - setting.level:
        sentences = [
            *_of_coordinates(explained),
            *_of_whole(joint, tests, explained, setting),
            *_of_covariates(conditional, joint, tests, explained, setting),
            *_uninformative(explained),
        ]
        return Verdict("miscalibrated", f"These draws are not calibrated ({pvalue_words(p)}).", tuple(sentences))
    seen = explained.smallest_spread
    idle = _uninformative(explained)
    if seen <= NOTABLE:
        return Verdict(
            "no evidence",
            f"Nothing speaks against these draws ({pvalue_words(p)}).",
            (
                *idle,
                f"A spread that is wrong by {percent(seen - 1)} would have been found 4 times in 5 with this many "
                "rows. That is not proof of calibration: smaller errors, and errors that cancel, stay unseen.",
            ),
        )
    return Verdict(
        "cannot tell",
        f"There are too few {'rows' if explained.M > 1 else 'draws'} to tell ({_size(explained)}; {pvalue_words(p)}).",
        (*idle, _unseen(explained)),
    )


def _size(explained: Explanation) -> str:
    return f"{explained.n:,}" if explained.M > 1 else "1 per row"


def _unseen(explained: Explanation) -> str:
    """Say what so few rows could have shown."""
    seen = explained.smallest_spread
    if math.isnan(seen):
        return "One draw per row shows no error of the spread, however many rows there are."
    if seen == math.inf:
        return "No error of the spread would have been found 4 times in 5: collect more rows, or more draws per row."
    needed = rows_needed(explained.n * (math.log(seen) / math.log(NOTABLE)) ** 2)
    return (
        f"Only a spread that is wrong by a factor of {seen:.2g} would have been found 4 times in 5. "
        f"To see {percent(NOTABLE - 1)}, collect about {needed:,} rows."
    )


def _of_coordinates(explained: Explanation) -> list[str]:
    """Return the sentences on coordinates that are off, worst first."""
    if isinstance(explained.sentence, str):
        return [] if explained.failure in CALM else [explained.sentence]
    off = [c for c in range(len(explained.names)) if explained.failure[c] not in CALM]
    off.sort(key=lambda c: float(explained.pvalue[c]))  # type: ignore[index]
    said = [f"{_named(explained.names[c])}: {explained.sentence[c]}" for c in off[:NAMED]]
    more = [f"{len(off) - NAMED:,} more coordinates are off; see the table."] if len(off) > NAMED else []
    return [*said, *more]


def _of_whole(joint: list[Look], tests: int, explained: Explanation, setting: Setting) -> list[str]:
    off = [look for look in joint if tests * look.pvalue < 1 - setting.level]
    if not off:
        return []
    alone = isinstance(explained.sentence, str) or not _of_coordinates(explained)
    listed = " and ".join(f"{look.label}, {pvalue_words(look.pvalue)}" for look in off)
    if alone and not isinstance(explained.sentence, str):
        return [f"Each coordinate is right alone; their dependence is wrong ({listed})."]
    return [f"The whole is off as well ({listed}); mend single coordinates first."]


def _of_covariates(
    conditional: list[Look], joint: list[Look], tests: int, explained: Explanation, setting: Setting
) -> list[str]:
    """Say that covariates were not used well; nothing where other errors make these ranks uneven too."""

    def found(looks: list[Look]) -> list[Look]:
        return [look for look in looks if tests * look.pvalue < 1 - setting.level]

    off = found(conditional)
    if not off or _of_coordinates(explained) or found(joint):
        return []
    listed = " and ".join(f"{look.label}, {pvalue_words(look.pvalue)}" for look in off)
    if any(look.ranks is None for look in off):
        told = "What was known of a row tells where its outcome falls among the draws"
        return [f"{told} ({listed}): it was not used well."]
    return [f"Outcomes are not as far from what the covariates predict as the draws are ({listed})."]


def _uninformative(explained: Explanation) -> list[str]:
    """Say which coordinates are calibrated and nothing more."""
    if isinstance(explained.failure, str):
        return [explained.sentence] if explained.failure == UNINFORMATIVE else []  # type: ignore[list-item]
    idle = [name for name, kind in zip(explained.names, explained.failure, strict=True) if kind == UNINFORMATIVE]
    if not idle:
        return []
    listed = ", ".join(idle[:NAMED]) + (f" and {len(idle) - NAMED:,} more" if len(idle) > NAMED else "")
    calm = "Calibrated, but no" if explained.smallest_spread <= NOTABLE else "No"
    return [f"{calm} sharper than the marginal law: {listed}."]


def _named(name: str) -> str:
    return f"Coordinate {name}" if name.isdigit() else name
