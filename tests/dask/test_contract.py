"""Every verb of the catalogue gives the same numbers on two Dask workers as on arrays."""

import pandas as pd
import pytest

from calibrant.testing.data import TABLES


@pytest.mark.parametrize("name", TABLES)
def test_two_workers(contract, cluster, require, name):
    from calibrant.dask import measure

    promised = contract(name)
    frame = require("dask.dataframe").from_pandas(pd.DataFrame(promised.table), npartitions=7)
    with cluster.as_current():
        promised.check(measure(promised.verbs, promised.y, promised.prediction, frame=frame, exact=True))
