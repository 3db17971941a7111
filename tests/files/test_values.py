"""Files whose columns hold different things are not read together."""

import numpy as np
import pytest

from calibrant.files.scan import scan


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_another_kind_of_values(three, refusal, suffix, measure):
    folder = three(lambda rows: rows.update(y=np.where(rows["y"], "yes", "no")), suffix)
    assert refusal(measure, folder) == (
        f"column 'y' of f/1.{suffix} contains texts, but numbers in f/0.{suffix}; save all files with the same types"
    )


def test_another_kind_of_what_is_filtered_by(three, refusal, measure):
    folder = three(lambda rows: rows.update(age=rows["age"].astype(str)))
    assert refusal(measure, folder, where="age > 30").startswith("column 'age' of f/1.parquet contains texts, but")


def test_another_precision(three, refusal, measure):
    folder = three(lambda rows: rows.update(p=rows["p"].astype(np.float32)))
    assert refusal(measure, folder) == (
        "column 'p' of f/1.parquet contains numbers of 32 bits, but of 64 bits in f/0.parquet: they would not fall "
        "into the same bins. Save all files with the same precision"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda age: age > 40, "true and false, but numbers of 64 bits"),
        (lambda age: (age / 10).astype(np.float32), "numbers of 32 bits, but numbers of 64 bits"),
    ],
)
def test_labels_that_would_be_two(three, refusal, measure, change, words):
    folder = three(lambda rows: rows.update(age=change(rows["age"])))
    assert measure(folder)
    message = refusal(lambda: list(scan(folder, y="y", prediction="p", groups="age").batches()))
    assert message == (
        f"column 'age' of f/1.parquet contains {words} in f/0.parquet: they would not fall into the same groups. Save "
        "all files with the same types"
    )


def test_days_and_moments(three, write, refusal):
    days = np.datetime64("2024-01-01") + np.arange(300) % 3
    folder = three(lambda rows: rows.update(age=days.astype("M8[us]")))
    write(folder / "0.parquet", {"y": np.array([0, 1]), "p": np.array([0.5, 0.5]), "age": days[:2].astype("M8[D]")})
    assert "contains moments, but days in f/0.parquet" in refusal(
        lambda: list(scan(folder, y="y", prediction="p", groups="age").batches())
    )
