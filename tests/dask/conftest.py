"""What the tests of Dask share: two worker processes, and collections cut in many ways."""

import importlib.util
import os
import warnings

import numpy as np
import pytest


@pytest.fixture(scope="session")
def cluster(require):
    """Return a client of two workers, each a process of its own."""
    distributed, config = require("distributed"), require("dask").config
    patience = {"distributed.comm.timeouts.connect": "5s"}  # with a worker that was killed
    with config.set(patience), warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # sockets that distributed tries
        local = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
        )
        client = distributed.Client(local, set_as_default=False)
    yield client
    client.close()
    local.close()


@pytest.fixture
def threads(require):
    """Compute on threads of this process."""
    with require("dask").config.set(scheduler="threads"):
        yield


@pytest.fixture(params=["threads", "two processes"])
def scheduler(request, require):
    """Compute on threads, or on two workers."""
    if request.param == "threads":
        with require("dask").config.set(scheduler="threads"):
            yield request.param
    else:
        with request.getfixturevalue("cluster").as_current():
            yield request.param


@pytest.fixture
def cut(require):
    """Return a function that makes a Dask array whose rows are cut at these places."""
    da = require("dask.array")

    def made(values, *places):
        array = np.asarray(values)
        ends = [*places, len(array)]
        sizes = tuple(int(size) for size in np.diff([0, *ends]))
        return da.from_array(array, chunks=(sizes, *array.shape[1:]))

    return made


@pytest.fixture
def framed(require):
    """Return a function that makes a Dask frame of columns whose rows are cut at these places."""
    dd, pd = require("dask.dataframe"), require("pandas")

    def made(columns, *places):
        table = pd.DataFrame(columns)
        starts, ends = [0, *places], [*places, len(table)]
        parts = [table.iloc[a:b] for a, b in zip(starts, ends, strict=True)]
        return dd.from_map(lambda part: part, parts, meta=table.iloc[:0])

    return made


def pytest_collection_modifyitems(items):
    """Skip the doctests of what needs Dask where it is not installed."""
    missing = importlib.util.find_spec("dask") is None and os.environ.get("CI") != "true"  # nothing is skipped in CI
    for item in items:
        if missing and isinstance(item, pytest.DoctestItem) and item.name.startswith("calibrant.dask"):
            item.add_marker(pytest.mark.skip(reason="dask is not installed"))
