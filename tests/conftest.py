"""What many tests share: the reference data, optional libraries, and the words of a refusal."""

import importlib
import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from calibrant import InputError

REFERENCES = Path(__file__).parent / "references"

# No deadline: nothing here may depend on how busy the machine is. Derandomised: a run repeats itself.
settings.register_profile("calibrant", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("calibrant")


@pytest.fixture(scope="session")
def require():
    """Return a function that imports an optional library; a missing one skips the test, but fails it in CI."""

    def imported(name):
        try:
            return importlib.import_module(name)
        except ImportError:
            if os.environ.get("CI") == "true":
                pytest.fail(f"{name} is not installed, and nothing is skipped in CI")
            pytest.skip(f"{name} is not installed")

    return imported


@pytest.fixture(scope="session")
def refusal():
    """Return a function that makes a call and returns the message it is refused with."""

    def message(call, *args, error=InputError, **options):
        with pytest.raises(error) as caught:
            call(*args, **options)
        assert type(caught.value) is error
        return str(caught.value)

    return message


@pytest.fixture(scope="session")
def book():
    """Return the reference values."""
    return json.loads((REFERENCES / "probabilities.json").read_text())


def _stored(*names):
    with np.load(REFERENCES / "probabilities.npz") as arrays:
        found = tuple(arrays[name] for name in names)
    for array in found:
        array.flags.writeable = False
    return found


@pytest.fixture(scope="session")
def D1():
    """Return y, p: binary, 500 rows, different scores."""
    return _stored("D1_y", "D1_p")


@pytest.fixture(scope="session")
def D2():
    """Return y, P: 600 rows, five classes."""
    return _stored("D2_y", "D2_P")


@pytest.fixture(scope="session")
def M():
    """Return y, p: binary, 24 rows, different scores."""
    return _stored("M_y", "M_p")


def pytest_collection_modifyitems(items):
    """Skip the doctests of PyTorch where it is not installed; nothing is skipped in CI."""
    if importlib.util.find_spec("torch") is None and os.environ.get("CI") != "true":
        for item in items:
            if isinstance(item, pytest.DoctestItem) and item.name.startswith("calibrant.integrations.torch."):
                item.add_marker(pytest.mark.skip(reason="torch is not installed"))
