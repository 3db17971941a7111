"""Audit of class probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrant.audit import words
from calibrant.audit.class_facts import ClassFacts, RowClasses
from calibrant.audit.groups import kuiper_groups
from calibrant.audit.measurements import collected
from calibrant.audit.probabilities import audit_pairs
from calibrant.audit.sections import Part, Setting, audits
from calibrant.catalogue import find
from calibrant.inputs import Classes
from calibrant.primitives.multiplicity import holm
from calibrant.results import Measurement, Section, Table

NOTIONS = {
    "top-label": "expected calibration error within predicted labels, 15 bins",
    "classwise": "expected calibration error of each class against the rest, 15 bins",
}


@audits(Classes, groups=kuiper_groups, families=2)
def audit_classes(rows: Classes, setting: Setting) -> Part:
    """Return what there is to say about class probabilities."""
    return audit_class_facts(RowClasses(rows), setting)


def audit_class_facts(facts: ClassFacts, setting: Setting) -> Part:
    """Audit the most probable class first, then each class."""
    top = audit_pairs(
        facts.top,
        setting,
        name="confidence",
        title="The most probable class",
        intro="Is the most probable class right as often as its probability says?",
        happens="it is right",
    )
    table = _class_table(facts, setting)
    whole, missing = collected([find(name) for name in ("skce_test", "brier_score", "log_score")], facts.result)
    section = Section(
        "classes",
        "All classes",
        "Does each class happen as often as predicted?",
        (*(_renamed(m) for m in whole), *_notions(facts)),
        tables=(table,),
    )
    columns = table.columns
    adjusted = dict(zip(columns["class"], columns["pvalue_adjusted"], strict=True))
    means = zip(columns["observed"], columns["predicted"], columns["kuiper estimate"], strict=True)
    how = dict(zip(columns["class"], (words.means_words(*line) for line in means), strict=True))
    verdict = words.with_parts(top.verdict, "classes", adjusted, how, setting)
    return Part((*top.sections, section), verdict, (*top.caveats, *missing, *_rare(facts)))


def _renamed(measurement: Measurement) -> Measurement:
    """Tell the scores of whole vectors from those of the most probable class."""
    return replace(measurement, name=f"classes.{measurement.name}", label=f"{measurement.label} (all classes)")


def _notions(facts: ClassFacts) -> list[Measurement]:
    return [Measurement(f"ece.{notion}", label, facts.notion(notion)) for notion, label in NOTIONS.items()]


def _class_table(facts: ClassFacts, setting: Setting) -> Table:
    """Return one row per class, the most suspicious first, with p-values adjusted for their number (Holm)."""
    ece, kuiper = find("ece"), find("kuiper_test")
    found = []
    for k in range(facts.K):
        summary = facts.against_the_rest(k)
        test = kuiper.finish(summary, **kuiper.completed({"rng": setting.rng}))
        weight = summary.total_weight
        observed = float(summary.event_weight_by_score.sum()) / weight
        predicted = float((summary.weight_by_score * summary.unique_scores).sum()) / weight
        found.append((k, observed, predicted, ece.finish(summary, **ece.options), test.estimate, test.pvalue))
    order = np.argsort([row[-1] for row in found], kind="stable")
    columns = list(zip(*(found[i] for i in order), strict=True))
    names = setting.class_names
    return Table(
        "classes",
        "Each class against the rest",
        {
            "class": tuple(names[k] for k in columns[0]),
            "observed": columns[1],
            "predicted": columns[2],
            "ece": columns[3],
            "kuiper estimate": columns[4],
            "pvalue": columns[5],
            "pvalue_adjusted": tuple(holm(np.array(columns[5])).tolist()),
        },
        "Kuiper's test of each class; adjusted p-values hold for all classes together (Holm).",
    )


def _rare(facts: ClassFacts) -> list[str]:
    rare = int(np.count_nonzero(facts.counts < 30))
    return [f"{rare} of {facts.K} classes happened fewer than 30 times."] if rare else []
