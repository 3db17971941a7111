"""Columns on disk that are as narrow as their values."""

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.engines import run_files as column_file
from calibrant.engines.run_files import REAL, SINGLE, WHOLE, Column, ColumnFile

VALUES = st.sampled_from([0, 1, 2, 11, 12, 181, 182, 46_340, 46_341, 10**15])


def written(path, types, *pieces):
    file = ColumnFile(path, types)
    for piece in pieces:
        file.append(np.asarray(piece))
    return file.finish()


@given(st.lists(st.lists(VALUES, max_size=6), max_size=6))
@settings(deadline=None)
def test_what_was_written_is_read_back(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("column") / "c"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(column_file, "VALUES_COPIED", 4)
        column = written(path, WHOLE, *(np.array(piece, np.int64) for piece in pieces))
    values = [value for piece in pieces for value in piece]
    assert column.size == len(values)
    assert column.read(path, 0, column.size).tolist() == values
    for start in range(len(values)):
        assert column.read(path, start, len(values)).tolist() == values[start:]
    assert path.exists() == (len(set(values)) > 1)
    assert not path.with_name("c.narrow").exists()
    if path.exists():
        assert path.stat().st_size == column.nbytes
        assert column.mapped(path).tolist() == values
        assert max(values) ** 2 <= np.iinfo(column.dtype).max or column.dtype == "<i8"
    assert Column(**asdict(column)) == column


@pytest.mark.parametrize(
    ("largest", "dtype"), [(11, "<i1"), (12, "<i2"), (181, "<i2"), (182, "<i4"), (46_340, "<i4"), (46_341, "<i8")]
)
def test_squares_fit(tmp_path, largest, dtype):
    column = written(tmp_path / "c", WHOLE, [0, 1], [largest, 0])
    assert column.dtype == dtype
    with np.errstate(all="raise"):
        values = column.mapped(tmp_path / "c")
        assert (values * values).max() == largest**2
        assert (values + 1).max() == largest + 1


def test_sums_of_narrow_columns_have_64_bits(tmp_path):
    values = written(tmp_path / "c", WHOLE, np.tile([11, 0], 1000)).mapped(tmp_path / "c")
    assert values.dtype == np.int8
    assert values.sum() == np.cumsum(values)[-1] == np.add.reduceat(values, [0])[0] == 11_000


def test_one_value_takes_no_room(tmp_path):
    column = written(tmp_path / "c", REAL, np.full(5, 2.5), np.full(3, 2.5))
    assert (column.size, column.constant, column.nbytes) == (8, 2.5, 0)
    assert column.mapped(tmp_path / "c").strides == (0,)
    assert not list(tmp_path.iterdir())


def test_scores_of_32_bits_until_one_has_more(tmp_path):
    narrow = np.array([0.1, 0.2], np.float32).astype(float)
    assert written(tmp_path / "a", SINGLE, narrow).dtype == "<f4"
    column = written(tmp_path / "b", SINGLE, narrow, [0.1], [1e300, np.inf])
    assert column.dtype == "<f8"
    np.testing.assert_array_equal(column.mapped(tmp_path / "b"), [*narrow, 0.1, 1e300, np.inf])


def test_discarded(tmp_path):
    file = ColumnFile(tmp_path / "c", WHOLE)
    file.discard()
    file.append(np.arange(5))
    file.discard()
    assert not list(tmp_path.iterdir())
