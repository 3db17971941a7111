"""Files whose columns hold different things are not read together."""

import numpy as np
import pytest

from calibrant.files.scan import scan

BINS = "they would not fall into the same bins. Save all files with the same precision"
GROUPS = "they would not fall into the same groups. Save all files with the same types"


BY_AGE = {"groups": "age"}
CASES = [
    ("y", lambda y: np.where(y, "yes", "no"), {}, "contains texts, but numbers in {}; save all files with the same"),
    ("age", lambda age: age.astype(str), {"where": "age > 30"}, "contains texts, but numbers in {}"),
    ("p", np.float32, {}, f"contains numbers of 32 bits, but of 64 bits in {{}}: {BINS}"),
    ("age", lambda age: age > 40, BY_AGE, f"contains true and false, but numbers of 64 bits in {{}}: {GROUPS}"),
    ("age", np.float32, BY_AGE, f"contains numbers of 32 bits, but numbers of 64 bits in {{}}: {GROUPS}"),
]


@pytest.mark.parametrize(("name", "change", "options", "words"), CASES)
def test_another_kind_of_values(three, refusal, name, change, options, words):
    for suffix in ("parquet", "csv") if name == "y" else ("parquet",):  # a CSV does not tell the types of numbers
        folder = three(lambda rows: rows.update({name: change(rows[name])}), suffix)
        path = folder / f"*.{suffix}"
        message = refusal(lambda path=path: list(scan(path, y="y", prediction="p", **options).batches()))
        assert message.startswith(f"column {name!r} of f/1.{suffix} {words.format(f'f/0.{suffix}')}")


def test_days_and_moments(three, write, refusal):
    days = np.datetime64("2024-01-01") + np.arange(300) % 3
    folder = three(lambda rows: rows.update(age=days.astype("M8[us]")))
    write(folder / "0.parquet", {"y": np.array([0, 1]), "p": np.array([0.5, 0.5]), "age": days[:2].astype("M8[D]")})
    found = scan(folder, y="y", prediction="p", groups="age")
    assert "contains moments, but days in f/0.parquet" in refusal(lambda: list(found.batches()))
    assert scan(folder, y="y", prediction="p").measure("brier_score")
