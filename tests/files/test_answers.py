"""Logs of language models, as lm-evaluation-harness 0.4.13 and Inspect (inspect_ai 0.3.285) write them."""

import json
import math
import sys
import zipfile
from pathlib import Path

import pytest

from calibrant import brier_score
from calibrant.errors import InputError
from calibrant.files.scan import scan

REFERENCES = Path(__file__).parents[1] / "references"
LM_EVAL = REFERENCES / "lm_eval"
SUMS = REFERENCES / "inspect" / "sums.json"
COLUMNS = {"y": "correct", "prediction": "confidence"}


@pytest.fixture(autouse=True)
def _polars(require):
    require("polars")


def read(path, format, **options):
    """Return task, question, outcome and confidence of each answer that has one."""
    where = options.pop("where", "confidence is not null")
    found = scan(path, **COLUMNS, groups=["task", "question"], format=format, where=where, **options)
    return [
        row
        for batch in found.batches()
        for row in zip(
            *(batch.groups[name].tolist() for name in ("task", "question")), batch.y, batch.prediction, strict=True
        )
    ]


def samples(task):
    (path,) = LM_EVAL.glob(f"samples_{task}_*.jsonl")
    return path


def test_multiple_choice():
    """The confidence is the probability of the likeliest choice, which acc says to be right or wrong."""
    path = samples("tiny_arithmetic")
    logged = [json.loads(line) for line in path.read_text().splitlines()]
    assert {len(sample["resps"]) for sample in logged} == {3, 4}
    rows = read(path, "lm-eval")
    assert [row[:3] for row in rows] == [
        ("tiny_arithmetic", str(k), right) for k, right in enumerate([1, 1, 0, 0, 0, 1, 0, 0])
    ]
    first = [math.exp(float(log)) for log, _ in logged[0]["filtered_resps"]]
    assert rows[0][3] == pytest.approx(max(first) / sum(first), rel=1e-14) == pytest.approx(0.3109490168657836)
    for sample, row in zip(logged, rows, strict=True):
        logs = [float(log) for log, _ in sample["filtered_resps"]]
        assert (logs.index(max(logs)) == sample["doc"]["gold"]) == row[2]


def test_choices_without_their_question_are_no_choices():
    """With acc_mutual_info the second half of the log-likelihoods are those of the answers alone."""
    assert [row[3] for row in read(samples("tiny_mutual"), "lm-eval")] == pytest.approx(
        [0.29571753408165125, 0.3382837817850288], rel=1e-14
    )


def test_generated_text_has_no_confidence():
    assert read(samples("tiny_words"), "lm-eval") == []
    with pytest.raises(InputError, match=r"no metric acc, .* it has 'acc_norm'. Run the task with acc"):
        read(samples("tiny_norm"), "lm-eval")


def test_several_files_are_one_set_of_rows():
    """Two of the twelve answers are generated texts."""
    files = [samples(task) for task in ("tiny_arithmetic", "tiny_words", "tiny_mutual")]
    assert [row[0] for row in read(files, "lm-eval")] == ["tiny_arithmetic"] * 8 + ["tiny_mutual"] * 2


ANSWERS = [("2+3", 1, 0.9), ("4+5", 1, 0.7), ("7+1", 1, 0.95), ("4+5", 1, 0.6), ("7+1", 0, 0.8)]


def test_inspect():
    assert read(SUMS, "inspect") == [("sums", *answer) for answer in ANSWERS]
    found = scan(SUMS, **COLUMNS, format="inspect", where="confidence is not null").measure(brier_score)
    assert found["brier_score"].value == pytest.approx((0.01 + 0.09 + 0.0025 + 0.16 + 0.64) / 5, rel=1e-14)
    with pytest.raises(InputError, match=r"'confidence' of .*sums\.json has no value in 1 of 6 rows"):
        read(SUMS, "inspect", where=None)


def test_an_archive(tmp_path):
    """New ones are packed with Zstandard, which Python unpacks from 3.14 on; older ones are read everywhere."""
    packed = SUMS.with_suffix(".eval")
    if sys.version_info >= (3, 14):
        assert read(packed, "inspect") == read(SUMS, "inspect")
    else:
        with pytest.raises(
            InputError, match=r"only Python 3\.14 and newer unpacks; convert it to JSON with inspect log"
        ):
            read(packed, "inspect")
    log = json.loads(SUMS.read_text())
    with zipfile.ZipFile(tmp_path / "old.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        for k, sample in enumerate(log.pop("samples")):
            archive.writestr(f"samples/{k}.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(log))
    assert read(tmp_path / "old.eval", "inspect") == read(SUMS, "inspect")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"scores": {"a": {"value": 1.0}}, "metadata": {"confidence": 0.25}}, (1, 0.25)),
        ({"scores": {"a": {"value": "I"}, "b": {"value": "C", "metadata": {"confidence": 1}}}}, (1, 1.0)),
        ({"scores": {"a": {"value": False, "metadata": {"confidence": 0.5}}}, "metadata": {"confidence": 0}}, (0, 0.5)),
        ({"scores": {"a": {"value": 0.5, "metadata": {"confidence": 0.5}}}}, "'correct' of .* has no value in 1 of 5"),
        ({"scores": {"a": {"value": ["C"], "metadata": {"confidence": 1}}}}, "'correct' of .* has no value in 1 of 5"),
        ({"scores": {"a": {"value": "C"}, "b": {"value": "C"}}}, r"several scores \('a', 'b'\)"),
        (
            {"scores": {"a": {"value": "C", "metadata": {"confidence": "90%"}}}},
            "cannot be read as a log of inspect: ValueError .*'90%'",
        ),
    ],
)
def test_where_score_and_confidence_stand(tmp_path, change, expected):
    log = json.loads(SUMS.read_text())
    log["samples"][0] |= change
    (tmp_path / "a.json").write_text(json.dumps(log))
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            read(tmp_path / "a.json", "inspect")
    else:
        assert read(tmp_path / "a.json", "inspect")[0] == ("sums", "2+3", *expected)


def test_samples_that_failed_have_neither(tmp_path):
    log = json.loads(SUMS.read_text())
    del log["samples"][0]["scores"]
    (tmp_path / "a.json").write_text(json.dumps(log))
    assert len(read(tmp_path / "a.json", "inspect")) == 4


@pytest.mark.parametrize("format", ["lm-eval", "inspect"])
def test_what_is_no_log(tmp_path, format):
    huge = '{"eval": {"task": ""}, "samples": [{"id": 1, "metadata": {"confidence": 1%s}}]}' % ("0" * 400)
    for content in ('{"y": 1}\n', "[1]\n", "text\n", '{"eval": 1, "samples": 2}', huge, "[" * 200_000):
        (tmp_path / "a.json").write_text(content)
        with pytest.raises(InputError, match=r"a\.json cannot be read as "):
            read(tmp_path / "a.json", format)
