"""Columns on disk, which take no room if all values are equal."""

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.engines import run_files as column_file
from calibrant.engines.run_files import Column, ColumnFile

VALUES = st.sampled_from([0, 1, 2, 11, 12, 181, 182, 46_340, 46_341, 10**15])


def written(path, dtype, *pieces):
    file = ColumnFile(path, dtype)
    for piece in pieces:
        file.append(np.asarray(piece))
    return file.finish()


@given(st.lists(st.lists(VALUES, max_size=6), max_size=6))
@settings(deadline=None)
def test_what_was_written_is_read_back(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("column") / "c"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(column_file, "VALUES_COPIED", 4)
        column = written(path, "<i8", *(np.array(piece, np.int64) for piece in pieces))
    values = [value for piece in pieces for value in piece]
    assert column.size == len(values)
    assert column.read(path, 0, column.size).tolist() == values
    for start in range(len(values)):
        assert column.read(path, start, len(values)).tolist() == values[start:]
    assert path.exists() == (len(set(values)) > 1)
    if path.exists():
        assert path.stat().st_size == column.nbytes
        assert column.mapped(path).tolist() == values
    assert Column(**asdict(column)) == column


def test_one_value_takes_no_room(tmp_path):
    column = written(tmp_path / "c", "<f8", np.full(5, 2.5), np.full(3, 2.5))
    assert (column.size, column.constant, column.nbytes) == (8, 2.5, 0)
    assert column.mapped(tmp_path / "c").strides == (0,)
    assert not list(tmp_path.iterdir())


def test_discarded(tmp_path):
    file = ColumnFile(tmp_path / "c", "<i8")
    file.discard()
    file.append(np.arange(5))
    file.discard()
    assert not list(tmp_path.iterdir())
