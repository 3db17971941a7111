"""Files written for the test, and batches small enough that a few rows fill several of them."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

BATCH = 64


@pytest.fixture
def small_batches(monkeypatch):
    """Make batches of 64 rows."""
    from calibrant.files import reading

    monkeypatch.setattr(reading, "BATCH", BATCH)
    return BATCH


@pytest.fixture(scope="session")
def columns():
    """Return 1000 rows of probabilities, and things to weight, group and filter them by."""
    rng = np.random.default_rng(11)
    p = rng.beta(0.7, 0.9, 1000)
    P = rng.dirichlet([1, 1, 1], 1000)
    return {
        "y": (rng.random(1000) < p).astype(np.int8),
        "p": p,
        "w": rng.uniform(0.5, 2, 1000),
        "segment": np.array(["student", "business"])[rng.integers(0, 2, 1000)],
        "age": rng.integers(18, 90, 1000),
        "k": np.array([rng.choice(3, p=row) for row in P]),
        **dict(zip("abc", P.T, strict=True)),
    }


@pytest.fixture(scope="session")
def write():
    """Return a function that writes columns to a Parquet, CSV, Arrow or NDJSON file."""

    def written(path, columns, rows=slice(None), **options):
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.feather
        import pyarrow.parquet

        table = pa.table({name: values[rows] for name, values in columns.items()})
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            pyarrow.parquet.write_table(table, path, **options)
        elif path.suffix == ".csv":
            pyarrow.csv.write_csv(table, path)
        elif path.suffix == ".arrow":
            pyarrow.feather.write_feather(table, path, compression="uncompressed")
        else:
            path.write_text("\n".join(map(json.dumps, table.to_pylist())) + "\n")
        return path

    return written


@pytest.fixture
def parts(tmp_path, columns, write):
    """Return a folder of eleven Parquet files of 100 rows, one of them without rows."""
    ends = [0, 100, 200, 200, 300, 400, 500, 600, 700, 800, 900, 1000]
    for k, (start, stop) in enumerate(pairwise(ends)):
        write(tmp_path / "parts" / f"part-{k}.parquet", columns, slice(start, stop), row_group_size=37)
    (tmp_path / "parts" / "_SUCCESS").write_text("")
    (tmp_path / "parts" / ".part-0.parquet.crc").write_text("x")
    return tmp_path / "parts"


@pytest.fixture
def three(tmp_path, columns, write, small_batches, monkeypatch):
    """Return a function that writes three files, the second one changed."""
    monkeypatch.chdir(tmp_path)

    def written(change, suffix="parquet"):
        for k in range(3):
            rows = {name: values[300 * k : 300 * k + 300].copy() for name, values in columns.items()}
            if k == 1:
                change(rows)
            write(tmp_path / "f" / f"{k}.{suffix}", rows)
        return Path("f")

    return written


@pytest.fixture(scope="session")
def measure():
    """Return a function that measures the Brier score of files."""
    from calibrant.files.scan import scan

    def measured(path, **options):
        return scan(path, **{"y": "y", "prediction": "p", **options}).measure("brier_score")

    return measured
