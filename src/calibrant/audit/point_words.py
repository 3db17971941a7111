"""The verdict on sets of points, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from calibrant.audit.point_look import Compared, PointLook
from calibrant.audit.words import POWER, pvalue_words
from calibrant.inference.tails import normal_quantile
from calibrant.results import Verdict

NOTABLE = 0.5  # shift of one coordinate, in sd, that must have been visible for "no evidence"


def point_verdict(
    compared: Mapping[str, Compared],
    looks: Mapping[str, Sequence[PointLook]],
    more: Callable[[Compared, Sequence[str]], tuple[str, ...]] = lambda about, said: (),
) -> Verdict:
    """Return the verdict on one or more generated sets against one real set.

    `more` has further words on a set that differs, given what the first look, at coordinates, said of it.
    """
    said: list[str] = []
    different = []
    for name, found in looks.items():
        about = compared[name]
        if not any(look.pvalue is not None and about.is_found(look.pvalue) for look in found):
            continue
        different.append(name)
        first_said, *others = (
            look.sentences if look.pvalue is not None and about.is_found(look.pvalue) else () for look in found
        )
        words = [*first_said, *more(about, first_said), *(text for sentences in others for text in sentences)]
        said += [text if about.alone else f"{name}: {text}" for text in words or [_only_whole(about)]]
    first = next(iter(compared.values()))
    p = min(
        min(1.0, look.pvalue * first.tests) for found in looks.values() for look in found if look.pvalue is not None
    )
    if different:
        return Verdict("different", _headline(first, different, len(looks), p), tuple(said))
    shift = max(unseen_shift(about) for about in compared.values())
    unseen = f"A shift of one coordinate by less than {shift:.2g} sd would likely go unseen at this number of points."
    if shift > NOTABLE:
        return Verdict("cannot tell", f"Too few points to tell {_sets(first)} apart ({pvalue_words(p)}).", (unseen,))
    headline = f"No evidence that {_sets(first)} differ ({pvalue_words(p)})."
    return Verdict("no evidence", headline, (f"{unseen} Not finding a difference is no proof that there is none.",))


def unseen_shift(compared: Compared) -> float:
    """Return the shift of one coordinate, in sd, that is found 4 times in 5 beside all other tests."""
    sets = compared.sets
    tail = (1 - compared.level) / (2 * 2 * sets.d * compared.tests)
    return float((normal_quantile(1 - tail) + normal_quantile(POWER)) * (1 / sets.n + 1 / sets.m) ** 0.5)


def _headline(first: Compared, different: list[str], many: int, p: float) -> str:
    says = pvalue_words(p)
    if first.alone:
        return f"The generated points differ from the real ones ({says})."
    says = f"the smallest {says}"
    if len(different) == many:
        return f"All {many} generated sets differ from the real points ({says})."
    named = " and ".join(filter(None, [", ".join(different[:-1]), different[-1]]))
    differ = "differs" if len(different) == 1 else "differ"
    return f"Of {many} generated sets {named} {differ} from the real points ({says})."


def _sets(first: Compared) -> str:
    return "the two sets" if first.alone else "the generated sets and the real one"


def _only_whole(compared: Compared) -> str:
    alone = (
        ""
        if compared.sets.d == 1
        else " No coordinate was found to do so alone: look at their shapes, and at how they depend on each other."
    )
    return f"The two sets differ as a whole.{alone}"


def no_truth(scores: Mapping[str, float]) -> Verdict:
    """Return what there is to say without real points: which set is more diverse."""
    if len(scores) == 1:
        ((name, score),) = scores.items()
        headline = f"There are no real points to compare {name} with: it is worth {score:.3g} different points."
        return Verdict("no truth", headline, (DIVERSE,))
    ordered = sorted(scores, key=lambda name: -scores[name])
    said = ", ".join(f"{name} {scores[name]:.3g}" for name in ordered)
    headline = f"There are no real points to compare with: only the diversity of {len(scores)} sets can be told."
    return Verdict("no truth", headline, (f"Effective numbers of different points: {said}.", DIVERSE))


DIVERSE = "Diverse is not the same as right: noise is diverse too. Small differences may be chance."
