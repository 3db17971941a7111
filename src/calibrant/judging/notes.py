"""What is said beside claims: one row of a table for each note, a label and a template for its numbers.

A template says how each number is written after a colon: `{n:rows}` is "1 row" or "4,000 rows" (any noun in the plural),
`{x:,}` a whole number, `{x:share}` a percentage, `{x:points}` percentage points rounded upwards, `{p:p}` a p-value,
`{x:number}`, `{level:level}`, `{names:list}`, `{ranges:ranges}` ranges of scores; without one the value is written as it
is.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

from calibrant.core import words
from calibrant.core.evidence import Note

_TEMPLATES: dict[str, dict[str, str]] = {
    "question": {
        "labels?": "Are these predicted labels? All {n:,} predictions are 0 or 1. Pass probabilities, such as those of predict_proba.",
        "class labels?": "Are these predicted labels? All {n:,} predictions give one class the probability 1. Pass probabilities, such as those "
        "of predict_proba.",
        "other outcome?": "Are these probabilities of the other outcome? The Brier score of p is {brier:number}, that of 1 - p is "
        "{other:number}.",
        "column order?": "Do the columns stand in another order than the classes? Outcomes of class {a} fit the column of class {b}, and "
        "{moved:,} of {K:,} classes fit another column better. Pass classes= in the order of the columns.",
        "clusters?": "Do rows belong together, as several rows of one customer do? {share:share} of the rows have the score of the row before, "
        "more than rows in random order have. Tests that treat such rows as independent find errors that are not there: name the clusters.",
        "row order?": "Do neighbouring rows belong together, in time or as several rows of one customer? The rows stand in an order in which errors "
        "of neighbours go together (correlation {correlation:.2f}). Tests that treat such rows as independent find errors that are not there: "
        "name the clusters, or judge one row of each. An order by something that the errors depend on explains it too.",
        "error rates?": "Are the levels {given:list} error rates? Then pass {meant:list}: coverage is {seen:shares}.",
    },
    "missing": {
        "missing": "{column} is missing in {missing:,} of {n:,} rows{groups:missing by group}, which are not judged"
    },
    "shape": {
        "over-confident": "over-confident: too low {low:ranges}, too high {high:ranges}",
        "under-confident": "under-confident: too high {high:ranges}, too low {low:ranges}",
        "both ways": "too low {low:ranges}, too high {high:ranges}",
        "too low": "too low {low:ranges}",
        "too high": "too high {high:ranges}",
        "narrow or biased": "a bias that changes sign between rows makes the same ranks: split rows by a covariate",
        "only the whole": "no single coordinate of {names:list} was found to differ: compare shapes and dependence",
    },
    "remedy": {
        "recalibrate": "recalibrate, fitted on rows that did not train the model",
        "recalibrate steps": "recalibrate, fitted on rows that did not train the model; methods isotonic or venn-abers, because others leave "
        "predictions of exactly 0 or 1 as they are",
        "map helps": "{map}: {score:score} lower by {gain:number} on new rows ({level:level} limits {limits:limits})",
        "map harms": "{map} would do harm with this many rows: {score:score} higher by {limits:negative limits}",
        "no gain shown": "no gain of the {score:score} is shown from {map} ({level:level} limits {limits:limits}); another map may gain",
        "gain without limits": "{map}: gain of {gain:number} in the {score:score}. {why}",
        "inverted": "higher scores go with fewer events ({map}): find out what the predictions are the probability of",
        "own map": "one map for {region} and one for the other rows: recalibrate with groups=, on other rows than these, which found the region",
        "conformal": "conformal prediction: recalibrate, fitted on rows that did not train the model",
        "conformal parts": "adapt the {size} of the predictions to how hard a row is to predict, or calibrate by group",
        "calibration rows": "calibrate on rows like these, or by group: those of the calibration set may differ from them",
    },
    "size": {"roots": "a typical gap, the root of the squared calibration error, in percentage points: {roots:list}"},
    "sets": {"sets differ": "{different:,} of {tested:,} generated sets differ from the real points: {names:list}"},
    "coverage": {
        "uncounted": "{number:,} of {all:,} levels are off on the side that does not count as an error here; the alternative two-sided counts "
        "both",
        "covered": "central intervals of {levels:shares} contain {shares:shares} of the outcomes",
        "regions covered": "regions of {levels:shares} contain {shares:shares} of the outcomes",
    },
    "covariates": {
        "no region": "no region of {searched} is off by more than chance ({p:p})",
        "goes along": "{region}, {also}",
        "not searched": "covariates were not searched: {why}",
        "related": "predictions are off with {searched} ({p:p}), and no region stands out{direction}",
    },
    "parts": {"calm": "none of {tested:,} {things} is off by more than chance"},
    "threshold": {
        "threshold": "in any range of scores, such as all above a threshold, the number of events differs from the predicted one by at most "
        "{most:percent up} of all rows ({level:level} confidence, cutoff error)"
    },
    "looked at": {
        "ranges": "{things:counts} (errors that cancel within one of them are not seen); not looked at: anything but {beyond:list}. Pass "
        "covariates= (--covariates), what was known of each row, to look for rows that are off by more",
        "average": "all rows on average; not looked at: anything but {beyond:list}. A group of rows can be off by more, in either "
        "direction: pass covariates= (--covariates), what was known of each row, to look for it",
        "looked at covariates": "{things:counts} (errors that cancel within one of them are not seen)",
        "mean alone": "{n:rows} show the mean alone: predicted {predicted:share}, observed {observed:share} ({level:level} limits "
        "{limits:percent limits})",
    },
    "skill": {
        "few rows decide skill": "a few rows decide the skill{name}, most of all rows {rows:list}",
        "few drawn rows decide skill": "a few rows decide the skill{name}",
        "heavy loss": "{rows:share} of the rows have {share:share} of the loss{name}; the others have a skill of {others:share}",
    },
    "rows": {
        "calibration set": "after a calibration set of {m:,} scores the coverage of valid predictors differs from its level too: more rows may "
        "not tell",
        "too few rows": "{n:rows} are too few to judge: at least {least:,}. ecdf_difference shows their ranks inside a band",
        "outside rows": "{name}outcomes lie outside all draws in rows {rows:list}{more}: {distance:.2g} sd beyond the nearest draw (median), "
        "{below:,} below and {above:,} above; draws of these rows are {narrower:.2g} times as wide as those of the others",
    },
    "test": {
        "weighted coverage": "weights are unequal, and coverage then has no exact test",
        "no level": "the sets have no nominal level; pass Sets(mask, level) to say how many outcomes they should cover",
        "no test": "no test applies to these predictive distributions",
        "kernel only": "only the kernel test applies, which gives no limits",
    },
    "power": {
        "visible": "with {n:rows} a spread that is wrong by a factor of {spread}, or a shift of {shift} sd that is the same in every row, would "
        "be found 4 times in 5",
        "visible shift": "with {n:rows} a shift of {shift} sd that is the same in every row would be found 4 times in 5",
        "no proof": "no evidence of a difference does not prove that there is none",
    },
    "draws": {
        "dependent draws": "{name}draws depend on those before them: about {tau:.1f} are worth one independent draw. That alone makes outer "
        "ranks too frequent; draw independently, or keep every {step}th draw, and look again",
        "repeated draws": "{name}draws repeat, as resampled ones do: remove the repeats by drawing again",
    },
    "diversity": {
        "effective numbers": "effective numbers of different points among {points:,}: {first:list} at the median distance; {last:list} at "
        "1/{finer:.0f} of it. Diverse does not mean correct: noise is diverse too"
    },
    "other": {"only copies": "no other difference was found"},
    "failed fits": {
        "failures decide": "{failed:,} of {n:,} fits failed, and their ranks could change the verdict (tests of ranks: {low:p} to {high:p} if "
        "all of them had rank 0, all rank M, or half of them each)",
        "failures change nothing": "{failed:,} of {n:,} fits failed; whatever their ranks were, the verdict is the same (tests of ranks: {low:p} "
        "to {high:p})",
        "finished fits": "of the finished fits alone: {headline}",
    },
    "": {
        "sampled gain": "Recalibration is measured on {n:rows}, drawn at random.",
        "sampled kernel": "Kernel errors (skce_test) are those of {n:rows}, drawn at random.",
        "sampled covariates": "Covariates are searched in {n:rows}, drawn at random.",
        "sampled rows": "{counted} all {n:rows}; everything else is measured on {some:rows} of them, drawn at random.",
        "no departure": "no departure beyond chance ({level:level} confidence; {p:p})",
        "no joint departure": "all together: no departure beyond chance ({p:p})",
        "alone right": "each variable is right alone, as far as these rows tell",
        "alone wrong": "errors of single variables make all together wrong too: correct them first",
        "effective": "Effective numbers of points depend on kernel, length scale, order and n: compare them within one table only.",
        "repetitions": "Repetitions in {name}: {distinct:,} distinct points among {rows:,}; the most frequent one appears {most:times}.",
        "no classifiers": "No classifiers: {why}.",
        "no neighbours": "Neighbours are not compared: each set needs more than {k} points.",
        "subset of points": "{what}: {n:,} of {real:,} real and {m:,} of {generated:,} generated points, drawn at random to save time.",
        "not replaced": "{failed:,} of {n:,} fits failed and were not replaced, which would be a selection ({named:semicolons}{more}).",
        "failures like others": "Parameters of failed fits do not differ visibly from those of finished fits (adjusted {p:p}).",
        "failures differ": "Fits fail where {name} is {way} (Mann-Whitney, adjusted {p:p}).",
        "few events": "Only {rare:,} of {n:rows} are {kind}: statements about them are based on few cases.",
        "few of classes": "{rare:,} of {K:,} classes happened fewer than {least:,} times.",
        "cells": "The rows were counted in {unique:,} cells of the score. Bins of equal width are exact, the method says by how much others may "
        "be off, and each cell is drawn as one score.",
        "tied": "{n:rows} have {unique:different scores}; tied scores are judged together.",
        "tied rows?": "If rows share a score because they belong together, as several rows of one customer do, they are not independent: name "
        "the clusters.",
        "weights": "With these weights {n:rows} count like {effective:,}.",
        "infinite": "Outcomes happened against predictions of exactly 0 or 1, so the log score is infinite. No prediction should be exactly 0 or "
        "1.",
        "ruled out": "{ruled_out:outcomes} happened against a prediction of exactly 0 or 1, so the log score is infinite. No prediction should "
        "be exactly 0 or 1.",
        "power": "With this many rows an error of {error:points}, the same at all scores but for those that it would take beyond 0 or 1, is found 4 "
        "times in 5, up or down; smaller errors, and errors that cancel, can remain undetected.",
        "no power": "With so few rows no constant error is found 4 times in 5.",
        "dependent": "Rows of one cluster may depend on each other. The verdict and the table of groups allow for that; other measurements are "
        "shown without p-values and limits, and bands in pictures are those of independent rows.",
        "shortfall": "With this many rows coverage too low by {error:points} is found 4 times in 5, allowing for all tests; a smaller shortfall "
        "may not be detected.",
        "no shortfall": "With so few rows no shortfall of coverage is found 4 times in 5.",
        "not nested": "In {bad:,} of {n:,} rows a prediction of a lower level reaches beyond that of a higher level. The levels are therefore "
        "not tested together. Are levels or columns exchanged?",
        "on bounds": "Up to {tied:outcomes} lie on a bound: a level is accepted if it lies between the coverage without and with the bounds, and "
        'levels are not tested jointly. The alternative "two-sided" judges the coverage with bounds both ways.',
        "on bounds, at least": 'Up to {tied:outcomes} lie on a bound: coverage above the level is then not an error. The alternative "two-sided" '
        "judges the coverage with bounds both ways.",
        "on quantiles": "Up to {tied:outcomes} lie on a quantile: levels are taken as right if they lie between the shares of outcomes below and "
        "at most at it, and are not tested jointly.",
        "after calibration": "Tests of coverage allow for a calibration set of {m:,} scores, on which the coverage of split conformal prediction "
        "depends; limits are those of the coverage of this predictor.",
        "split conformal": "If these {things} come from split conformal prediction, their coverage depends on the calibration set and these "
        "tests are too strict: give calibration_size, its number of scores.",
        "no bound": "Up to {share:share} of the intervals have no bound. They cover every outcome and say nothing; the coverage of the others is "
        "lower.",
        "one-sided": "Up to {share:share} of the intervals are one-sided. They have no width; the median width counts them as infinite.",
        "families": "The verdict combines {number:,} families of tests: {names:list}. P-values in the verdict, and adjusted ones in tables, "
        "allow for all of them together.",
    },
}

NOTES = {key: (label, text) for label, templates in _TEMPLATES.items() for key, text in templates.items()}
"""The label and the template of each note."""

MAX_GROUPS_SHOWN = 4  # in a sentence
SCORES = {"crps": "CRPS", "brier": "Brier score"}


def text_of(note: Note) -> tuple[str, str]:
    """Return the label and the text of a note.

    >>> text_of(Note("power", {"error": 0.02301}))[1][:60]
    'With this many rows an error of 2.4 percentage points, the s'
    >>> text_of(Note("few events", {"rare": 3, "n": 4000, "kind": "events"}))[1][:33]
    'Only 3 of 4,000 rows are events: '
    """
    label, template = NOTES[note.key]
    return label, _FORMAT.format(template, **note.values)


def as_text(note: Note | str) -> str:
    """Return the text of a note; one that is a text already is returned as it is."""
    return note if isinstance(note, str) else text_of(note)[1]


def _ranges(ranges: Any) -> str:
    """Write ranges of scores, joined where they meet.

    >>> _ranges([(0.0, 0.2), (0.1, 0.29)]), _ranges([(0.66, 1.0)]), _ranges([(0.0, 1.0)])
    ('up to 0.29', 'above 0.66', 'over the whole range')
    """
    joined: list[list[float]] = []
    for low, high in ranges:
        if joined and low <= joined[-1][1]:
            joined[-1][1] = max(high, joined[-1][1])
        else:
            joined.append([low, high])
    return words.listed([_range(low, high) for low, high in joined])


def _range(low: float, high: float) -> str:
    least, most = words.apart(low, high)
    if low <= 0 and high >= 1:
        return "over the whole range"
    if high <= 0:
        return "where they are 0"
    if low > 0 and high >= 1:
        return f"above {least}"
    return f"up to {most}" if least == "0" else f"from {least} to {most}"


def _count(number: int, things: str) -> str:
    """Write a number of things, whose name is in the plural.

    >>> _count(54, "ranges of scores"), _count(1, "ranges of scores")
    ('54 ranges of scores', '1 range of scores')
    """
    noun, of, rest = things.partition(" ")
    return f"{number:,} {noun if number != 1 else noun.removesuffix('s')}{of}{rest}"


def _missing_by_group(groups: Any) -> str:
    """Write how many rows of each group are missing, in brackets.

    >>> _missing_by_group([("task = algebra", 30, 200), ("task = law", 7, 300)]), _missing_by_group([])
    (' (task = algebra: 30 of 200, task = law: 7 of 300)', '')
    """
    shown = [f"{name}: {missing:,} of {n:,}" for name, missing, n in groups[:MAX_GROUPS_SHOWN]]
    more = [f"{len(groups) - MAX_GROUPS_SHOWN:,} more groups"] if len(groups) > MAX_GROUPS_SHOWN else []
    return f" ({', '.join([*shown, *more])})" if shown else ""


_WRITERS: dict[str, Callable[[Any], str]] = {
    "share": words.percent,
    "shares": lambda values: words.listed([words.percent(value) for value in values]),
    "points": lambda value: words.points(value, digits=2, up=True),
    "percent up": lambda value: f"{words.significant(100 * value, 2, words.round_up):.10g} %",
    "percent limits": lambda limits: "{} to {} %".format(*words.outward(limits[0], limits[1], limits[0], digits=0)),
    "counts": lambda counted: words.listed([_count(*each) for each in counted]),
    "number": words.number,
    "p": words.pvalue_words,
    "semicolons": "; ".join,
    "score": lambda name: SCORES.get(name, f"{name} score"),
    "level": words.confidence_words,
    "list": lambda values: words.listed(
        [f"{value:.10g}" if isinstance(value, float) else str(value) for value in values]
    ),
    "ranges": _ranges,
    "missing by group": _missing_by_group,
    "limits": lambda limits: words.short_limits(*limits),
    "negative limits": lambda limits: words.short_limits(-limits[1], -limits[0]),
}


class _Format(string.Formatter):
    """Writes numbers as the templates ask for."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in _WRITERS:
            return _WRITERS[format_spec](value)
        if format_spec.endswith("s") and format_spec.replace(" ", "").isalpha():  # a noun in the plural
            return f"{value:,} {format_spec[:-1] if value == 1 else format_spec}"
        return str(super().format_field(value, format_spec))


_FORMAT = _Format()
