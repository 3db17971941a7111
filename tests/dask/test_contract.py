"""Every verb of the catalogue gives the same numbers on two Dask workers as on arrays."""

import pandas as pd

from calibrant.dask import measure


def test_two_workers(contract, cluster, require):
    frame = require("dask.dataframe").from_pandas(pd.DataFrame(contract.table), npartitions=7)
    with cluster.as_current():
        given = {"y": contract.y, "prediction": contract.prediction, "groups": contract.groups}
        found = measure(contract.verbs, frame, **given, exact=True)
    contract.check(found)
