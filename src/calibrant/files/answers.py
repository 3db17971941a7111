"""Answers of language models, as lm-evaluation-harness and Inspect log them: one row per answer.

Of multiple choice in lm-evaluation-harness the answer is the choice with the largest log-likelihood, as in its metric
``acc``, and the confidence is its probability among the choices, exp(l_max) / Σ exp(l_k). Generated text has none. In
Inspect the confidence is the entry ``confidence`` of the metadata of the score or else of the sample.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from calibrant.errors import InputError, listing
from calibrant.files.lazy_libraries import pl

SAMPLES = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT.*")  # a file of lm-evaluation-harness
MARKS = {"C": True, "I": False, "N": False, True: True, False: False}  # of right and wrong answers; 1 and 0 too
DAMAGE = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, EOFError, zlib.error,
    zipfile.BadZipFile
)  # fmt: skip
Row = tuple[str, str, bool | None, float | None]  # task, question, whether it is answered correctly, confidence


def scan(path: Path, format: str) -> pl.LazyFrame:
    return _rows(path, format, path.stat().st_mtime_ns).lazy()


@lru_cache(maxsize=16)  # a command looks at a file several times
def _rows(path: Path, format: str, _: int) -> pl.DataFrame:
    """Return the answers of a log; the last argument is when the file was changed."""
    types = {"task": pl.String, "question": pl.String, "correct": pl.Boolean, "confidence": pl.Float64}
    try:
        return pl.DataFrame(list(LOGS[format](path)), schema=types, orient="row")
    except InputError:
        raise
    except DAMAGE as problem:
        why = f"{type(problem).__name__} {problem}"
        raise InputError(f"{path} cannot be read as a log of {format}: {why}") from problem


def lm_eval(path: Path) -> Iterator[Row]:
    """Yield the answers in a file of samples; the name of the file has that of the task."""
    named = SAMPLES.fullmatch(path.stem)
    task = named["task"] if named else path.stem
    for line in path.read_text(encoding="utf-8").rstrip().split("\n"):  # other ends of lines may stand in texts
        sample = json.loads(line)
        confidence = _confidence(sample)
        if confidence is not None and "acc" not in sample:
            raise InputError(
                f"{path} has log-likelihoods and no metric acc, which says whether the likeliest choice is right; it "
                f"has {listing(sample.get('metrics', ()))}. Run the task with acc among its metrics"
            )
        correct = MARKS.get(sample.get("acc", sample.get("exact_match")))
        yield task, str(sample["doc_id"]), correct, confidence


def _confidence(sample: Mapping[str, Any]) -> float | None:
    """Return exp(l_max) / Σ exp(l_k) over the choices; nothing of a text.

    An answer with a log-likelihood is a pair with whether the model would have written it.

    >>> _confidence({"filtered_resps": [["-1.0", "False"], ["-1.0", "True"]]}), _confidence({"filtered_resps": ["Yes"]})
    (0.5, None)
    """
    logs = [float(pair[0]) for pair in sample["filtered_resps"] if isinstance(pair, list) and len(pair) == 2]
    if "acc_mutual_info" in sample:  # the second half is without the question
        logs = logs[: len(logs) // 2]
    if len(logs) < 2 or not math.isfinite(max(logs)):
        return None
    return 1 / math.fsum(math.exp(each - max(logs)) for each in logs)


def inspect(path: Path) -> Iterator[Row]:
    """Yield the answers in a log, which is JSON or an archive of it (``.eval``)."""
    log = _archived(path) if zipfile.is_zipfile(path) else json.loads(path.read_text(encoding="utf-8"))
    about = log["eval"]
    for sample in log["samples"]:
        score = _score(sample, path)
        stated = {**(sample.get("metadata") or {}), **(score.get("metadata") or {})}.get("confidence")
        mark = score.get("value")
        correct = MARKS.get(mark) if isinstance(mark, (str, int, float)) else None
        yield about["task"], str(sample["id"]), correct, None if stated is None else float(stated)


def _score(sample: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Return the score with a confidence, or else the only one; none of a sample that failed."""
    scores = sample.get("scores") or {}
    found = {k: score for k, score in scores.items() if "confidence" in (score.get("metadata") or {})} or scores
    if len(found) > 1:
        raise InputError(
            f"sample {sample['id']} of {path} has several scores ({listing(list(found))}), and only one can say "
            "whether the answer is right; score the log again with one scorer (inspect score)"
        )
    return next(iter(found.values()), {})


def _archived(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith("samples/") and name.endswith(".json")]
        try:
            samples = [json.loads(archive.read(name)) for name in names]
            return {**json.loads(archive.read("header.json")), "samples": samples}
        except NotImplementedError as problem:  # Zstandard before Python 3.14
            raise InputError(
                f"{path} is packed with Zstandard, which only Python 3.14 and newer unpacks; convert it to JSON with "
                "inspect log convert"
            ) from problem


LOGS: Mapping[str, Callable[[Path], Iterator[Row]]] = {"lm-eval": lm_eval, "inspect": inspect}
