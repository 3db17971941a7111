"""Bounds and levels that are given in another order than their names say."""

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    columns = {"y": y, "lo80": -1.28, "lo95": -1.96, "hi95": 1.96, "hi80": 1.28}
    path = tmp_path / "bounds.parquet"
    pl.DataFrame({name: np.broadcast_to(column, 400) for name, column in columns.items()}).write_parquet(path)
    return path


def bounds(*pairs):
    return [word for low, high, level in pairs for word in ("--lower", low, "--upper", high, "--level", level)]


def test_pairs_are_said_aloud_unless_their_names_say_them(run, table):
    done = run("audit", table, "--y", "y", *bounds(("lo80", "hi80", "0.8"), ("lo95", "hi95", "0.95")))
    assert done.code == 0
    assert done.err == ""
    done = run("audit", table, "--y", "y", *bounds(("lo80", "hi80", "0.5"), ("lo95", "hi95", "0.6")))
    assert done.code == 0
    assert "intervals: lo80 to hi80 is 0.5, lo95 to hi95 is 0.6" in done.err


def test_a_pattern_that_pairs_the_wrong_columns_is_refused(run, table):
    done = run("audit", table, "--y", "y", "--lower", "lo*", "--upper", "hi*", "--level", "0.8", "--level", "0.95")
    assert done.code != 0
    assert "their names say otherwise" in done.err


def test_levels_in_another_order_than_the_columns_are_refused(run, table):
    done = run("audit", table, "--y", "y", *bounds(("lo80", "hi80", "0.95"), ("lo95", "hi95", "0.8")))
    assert done.code != 0
    assert "give --level in the order of --lower and --upper" in done.err
