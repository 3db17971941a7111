"""How many rows a file has, before it is read."""

import gzip

import numpy as np
import pytest

from calibrant.files.table_file import open_table

ROWS = 50_000


@pytest.fixture
def lines():
    rng = np.random.default_rng(0)
    return ("y,p\n" + "".join(f"1,{p:.4f}\n" for p in rng.random(ROWS))).encode()


def test_text_files_tell_about(tmp_path, lines):
    (tmp_path / "a.csv").write_bytes(lines)
    assert open_table(tmp_path / "a.csv").likely_rows() == pytest.approx(ROWS, rel=0.01)
    with gzip.open(tmp_path / "a.csv.gz", "wb") as file:
        file.write(lines)
    assert open_table(tmp_path / "a.csv.gz").likely_rows() == pytest.approx(ROWS, rel=0.2)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_others_know(tmp_path, columns, write, suffix):
    assert open_table(write(tmp_path / f"a.{suffix}", columns)).likely_rows() == 1000


def test_npz_is_read_at_once(tmp_path, columns):
    np.savez(tmp_path / "a.npz", y=columns["y"])
    assert open_table(tmp_path / "a.npz").likely_rows() == 0


def test_skipping(tmp_path, columns, write):
    table = open_table(write(tmp_path / "a.csv", columns))
    parts = [frame["p"].to_list() for frame in table.frames(["p"], None, size=300, skip=900)]
    assert [p for part in parts for p in part] == columns["p"][900:].tolist()
