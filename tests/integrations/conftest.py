"""scikit-learn and rows for its estimators."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def sk(require):
    """Return scikit-learn with the parts that are used here."""
    parts = "calibration datasets frozen linear_model model_selection naive_bayes neighbors pipeline preprocessing svm"
    for part in (*parts.split(), "utils.estimator_checks"):
        require(f"sklearn.{part}")
    return require("sklearn")


@pytest.fixture(scope="session")
def labelled(sk):
    """Return X and labels "no" and "yes" of 600 rows."""
    X, y = sk.datasets.make_classification(600, n_features=6, n_redundant=3, flip_y=0.2, random_state=0)
    return X, np.array(["no", "yes"])[y]


@pytest.fixture(scope="session")
def three(sk):
    """Return X and labels "a", "b", "c" of 600 rows."""
    X, y = sk.datasets.make_classification(600, n_classes=3, n_informative=4, flip_y=0.2, random_state=1)
    return X, np.array(["a", "b", "c"])[y]
