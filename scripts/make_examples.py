"""Make the example predictions that ship with calibrant.

Run from the root of the repository, with NumPy and scikit-learn installed::

    python scripts/make_examples.py           # writes src/calibrant/examples/*.npz
    python scripts/make_examples.py --check   # writes nothing, compares with the committed files

The script must reproduce the committed files: every seed is fixed, and ``--check`` exits with status 1 when
labels, groups or counts differ at all or a number differs by more than 1e-6, absolutely and relatively. Change the
script and the files together.

The data sets are synthetic, all but one, but the predictions are real outputs of fitted models: nothing here bends a
prediction after the fact. Each set has a module in ``example_data`` that tells its causal story.

churn, digits
    Probabilities of networks, which are over-confident for the usual reason, namely that they were trained for too
    long on too few rows.
house_prices
    Split conformal intervals of a least-squares fit: right on average, wrong for large and for small houses.
demand
    Quantiles of a network, too close together for the reason that the probabilities are too extreme.
posterior
    Draws of a network's posterior of the parameters of a simulator, over-confident for that reason too.
ensemble
    Forecasts of members that start around an analysis, by a model that lacks something: too close together.
generated
    Draws of a mixture with too few components, beside the handwritten digits of scikit-learn: right on average only.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from example_data.churn import make_churn
from example_data.demand import make_demand
from example_data.digits import make_digits
from example_data.ensemble import make_ensemble
from example_data.generated import make_generated
from example_data.house_prices import make_house_prices
from example_data.network import AnyArrays
from example_data.posterior import make_posterior
from numpy.typing import NDArray

EXAMPLES_FOLDER = Path(__file__).resolve().parents[1] / "src" / "calibrant" / "examples"
TOLERANCE = 1e-6
MAKERS = {
    "churn": make_churn,
    "digits": make_digits,
    "house_prices": make_house_prices,
    "demand": make_demand,
    "posterior": make_posterior,
    "ensemble": make_ensemble,
    "generated": make_generated,
}


def agree(fresh: NDArray[np.generic], committed: NDArray[np.generic]) -> bool:
    """Tell whether a committed array is the one this script makes."""
    if fresh.shape != committed.shape or fresh.dtype != committed.dtype:
        return False
    if np.issubdtype(fresh.dtype, np.floating):
        return bool(np.allclose(fresh, committed, rtol=TOLERANCE, atol=TOLERANCE))
    return bool(np.array_equal(fresh, committed))


def differences(name: str, fresh: AnyArrays) -> list[str]:
    """List what is wrong with one committed file; an empty list means that it is reproduced."""
    path = EXAMPLES_FOLDER / f"{name}.npz"
    if not path.exists():
        return [f"{path} is missing"]
    with np.load(path, allow_pickle=False) as committed:
        if set(committed.files) != set(fresh):
            return [f"{path.name} holds {sorted(committed.files)}, expected {sorted(fresh)}"]
        return [f"{path.name}: {key} differs" for key in fresh if not agree(fresh[key], committed[key])]


def write(name: str, arrays: AnyArrays) -> None:
    """Write one example file and say how large it is."""
    path = EXAMPLES_FOLDER / f"{name}.npz"
    np.savez_compressed(path, allow_pickle=False, **arrays)
    print(f"{path.name}: {path.stat().st_size:,} bytes")


def main() -> int:
    """Write the example files, or check them; the result is the exit status."""
    parser = argparse.ArgumentParser(description="Make the example predictions that ship with calibrant.")
    parser.add_argument("--check", action="store_true", help="compare with the committed files, write nothing")
    check_only = parser.parse_args().check
    examples = {name: make() for name, make in MAKERS.items()}
    if not check_only:
        for name, arrays in examples.items():
            write(name, arrays)
        return 0
    problems = [problem for name, arrays in examples.items() for problem in differences(name, arrays)]
    print("\n".join(problems) or "The committed files are reproduced.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
