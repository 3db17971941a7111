from dataclasses import FrozenInstanceError, fields
from importlib.resources import files
from operator import attrgetter

import numpy as np
import pytest

from calibrant import examples

# Shape and type of each documented array, by its path in the example.
ARRAYS = {
    "churn": {"y": ((4000,), "int8"), "p": ((4000,), "float64"), "segment": ((4000,), "<U8")},
    "digits": {"y": ((3000,), "int8"), "P": ((3000, 10), "float64")},
    "house_prices": {
        **{"y": ((3000,), "float64"), "size": ((3000,), "<U6")},
        **{f"prediction.{bound}": ((3000, 2), "float64") for bound in ("lower", "upper")},
    },
    "demand": {"y": ((3000,), "int16"), "product": ((3000,), "<U9"), "prediction.values": ((3000, 5), "float64")},
    "posterior": {
        **{"y": ((500, 3), "float32"), "log_density_y": ((500,), "float32"), "reported": ((500, 14), "int16")},
        **{"prediction.held": ((500, 99, 3), "float32"), "prediction.log_densities": ((500, 99), "float32")},
    },
    "ensemble": {
        **dict.fromkeys(("y", "start"), ((1000,), "float32")),
        **{"lead": ((1000,), "<U6"), "prediction.held": ((1000, 50), "float32")},
    },
    "generated": {"y": ((899, 8), "float32"), "points": ((899, 8), "float32")},
}
FILES = [f"{name}.npz" for name in ARRAYS]
EACH = pytest.mark.parametrize("name", ARRAYS)


@EACH
def test_documented_shapes_and_dtypes(name):
    example = getattr(examples, name)()
    arrays = {path: attrgetter(path)(example) for path in ARRAYS[name]}
    assert {path: (array.shape, array.dtype) for path, array in arrays.items()} == ARRAYS[name]


@pytest.mark.parametrize(
    ("load", "column", "names", "least"),
    [
        (examples.churn, "segment", ["basic", "business", "family", "student"], 400),
        (examples.house_prices, "size", ["large", "medium", "small"], 500),
        (examples.demand, "product", ["bread", "fruit", "ice cream"], 1),
        (examples.ensemble, "lead", ["1 day", "3 days", "5 days", "8 days"], 250),
    ],
)
def test_no_group_is_tiny(load, column, names, least):
    found, counts = np.unique(getattr(load(), column), return_counts=True)
    assert found.tolist() == names
    assert counts.min() >= least


def test_churn_values_are_in_range():
    example = examples.churn()
    assert set(example.y.tolist()) == {0, 1}
    # Strictly inside: a stored 0 or 1 would make the logarithmic score infinite.
    assert example.p.min() > 0.0
    assert example.p.max() < 1.0
    assert 0.25 < example.y.mean() < 0.35


def test_churn_is_over_confident():
    example = examples.churn()
    confidence = np.maximum(example.p, 1.0 - example.p)
    correct = (example.p > 0.5) == (example.y == 1)
    assert confidence.mean() - correct.mean() > 0.03


def test_digits_values_are_in_range():
    example = examples.digits()
    assert set(example.y.tolist()) == set(range(10))
    assert example.P.min() > 0.0
    assert example.P.max() < 1.0
    np.testing.assert_allclose(example.P.sum(axis=1), 1.0, rtol=0.0, atol=1e-12)


def test_digits_is_over_confident():
    example = examples.digits()
    accuracy = (example.P.argmax(axis=1) == example.y).mean()
    assert 0.75 < accuracy < 0.9
    assert example.P.max(axis=1).mean() - accuracy > 0.03


def test_house_prices_are_covered_on_average_only():
    example = examples.house_prices()
    y, bounds = example.y[:, None], example.prediction
    assert (bounds.levels.tolist(), example.calibration_size) == ([0.8, 0.9], 4000)
    covered = (bounds.lower <= y) & (y <= bounds.upper)
    assert np.abs(covered.mean(axis=0) - bounds.levels).max() < 0.01
    assert (covered[example.size == "small"].mean(axis=0) > bounds.levels + 0.07).all()
    assert (covered[example.size == "large"].mean(axis=0) < bounds.levels - 0.1).all()


def test_intervals_of_house_prices_are_nested_and_differ_in_width():
    low, high = examples.house_prices().prediction.lower.T, examples.house_prices().prediction.upper.T
    assert (low[1] < low[0]).all()
    assert (high[1] > high[0]).all()
    assert np.unique((high - low)[1]).size > 1000


def test_demand_is_too_narrow_for_every_product():
    example = examples.demand()
    assert example.prediction.levels.tolist() == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert example.y.min() >= 0
    assert example.prediction.values.min() > 0
    below = example.y[:, None] <= example.prediction.values
    for product in np.unique(example.product):
        low, *_, high = below[example.product == product].mean(axis=0)
        assert low > 0.05 + 0.02
        assert high < 0.95 - 0.04


def _ranks(example):
    return (example.prediction.held < example.y[:, None]).sum(axis=1)


def test_posterior_values_are_in_range():
    example = examples.posterior()
    assert example.parameters == ("reproduction number", "infectious days", "reported share")
    for values in (example.y, example.prediction.held):
        assert values.min() > 0
        assert values[..., 2].max() < 1
    assert np.isfinite(example.prediction.log_densities).all()
    assert example.reported.min() >= 0
    # No ties, so that ranks need no chance.
    assert not (example.prediction.held == example.y[:, None]).any()


def _unbounded(values):
    logarithms = np.log(values[..., :2].astype(float))
    share = values[..., 2:].astype(float)
    return np.concatenate([logarithms, np.log(share / (1 - share))], axis=-1)


def test_log_densities_of_the_posterior_are_those_of_its_parameters():
    """A Gaussian law fitted to the draws of a row, on the unbounded scale, has about the same density."""
    example = examples.posterior()
    z, truth = _unbounded(example.prediction.held), _unbounded(example.y)
    differences = []
    for i in range(100):
        mean, cov = z[i].mean(axis=0), np.cov(z[i].T)
        points = np.vstack([z[i], truth[i]])
        distance = np.einsum("ki,ij,kj->k", points - mean, np.linalg.inv(cov), points - mean)
        shares = np.append(example.prediction.held[i, :, 2], example.y[i, 2]).astype(float)
        jacobian = points[:, 0] + points[:, 1] + np.log(shares * (1 - shares))
        fitted = -0.5 * (distance + np.linalg.slogdet(2 * np.pi * cov)[1]) - jacobian
        differences.append(np.append(example.prediction.log_densities[i], example.log_density_y[i]) - fitted)
    differences = np.array(differences)
    assert abs(np.median(differences[:, :-1])) < 0.1
    assert abs(np.median(differences[:, -1])) < 0.2
    assert np.median(np.abs(differences)) < 0.2


def test_posterior_is_over_confident_and_more_so_as_a_whole():
    example = examples.posterior()
    ranks = _ranks(example)
    central = ((ranks >= 5) & (ranks <= 94)).mean(axis=0)
    assert (central < 0.9 - 0.03).all()
    denser = (example.prediction.log_densities > example.log_density_y[:, None]).sum(axis=1)
    assert (denser < 90).mean() < central.min() - 0.02


def test_posterior_is_sharper_than_the_prior():
    example = examples.posterior()
    spread = example.prediction.held.astype(float).var(axis=1, ddof=1).mean(axis=0)
    assert (1 - spread / example.y.astype(float).var(axis=0, ddof=1) > 0.3).all()


def test_ensemble_is_right_on_the_first_day_and_too_narrow_later():
    example = examples.ensemble()
    assert not (example.prediction.held == example.y[:, None]).any()
    ranks, nominal = _ranks(example), 45 / 51
    central = (ranks >= 3) & (ranks <= 47)
    assert abs(central[example.lead == "1 day"].mean() - nominal) < 0.05
    for lead in ("3 days", "5 days"):
        assert central[example.lead == lead].mean() < nominal - 0.05


def test_errors_of_the_ensemble_grow_with_lead_time():
    example = examples.ensemble()
    error = (example.prediction.held.mean(axis=1) - example.y) ** 2
    growing = [error[example.lead == lead].mean() for lead in ("1 day", "3 days", "5 days", "8 days")]
    assert growing == sorted(growing)
    assert np.corrcoef(example.start, example.y)[0, 1] > 0.1


def test_points_of_generated_are_finite_and_none_comes_twice():
    example = examples.generated()
    assert example.columns == tuple(f"component_{c}" for c in range(1, 9))
    assert np.isfinite(example.y).all()
    assert np.isfinite(example.points).all()
    assert len(np.unique(np.vstack([example.y, example.points]), axis=0)) == 2 * 899


def test_generated_points_have_the_mean_and_the_covariance_of_real_ones():
    """Every mean is within four standard errors, and every standard deviation within a tenth."""
    example = examples.generated()
    y, points = example.y.astype(float), example.points.astype(float)
    error = np.sqrt((y.var(axis=0) + points.var(axis=0)) / 899)
    assert (np.abs(y.mean(axis=0) - points.mean(axis=0)) < 4 * error).all()
    assert np.abs(points.std(axis=0) / y.std(axis=0) - 1).max() < 0.1
    # Components of the training half are uncorrelated there, and nearly so in the other half.
    for values in (y, points):
        assert np.abs(np.corrcoef(values.T) - np.eye(8)).max() < 0.15


def _distances(a, b):
    return np.sqrt(((a[:, None].astype(float) - b[None].astype(float)) ** 2).sum(axis=2))


def test_generated_points_lie_where_no_digit_is():
    """Five neighbours of a real point reach as far as a generated one 19 times in 20 if the laws are the same."""
    example = examples.generated()
    radius = np.sort(_distances(example.y, example.y), axis=1)[:, 5]
    inside = _distances(example.y, example.points) <= radius[:, None]
    assert inside.any(axis=1).mean() < 0.7  # real points with a generated one in reach
    assert inside.any(axis=0).mean() < 0.75  # generated points in reach of a real one
    other = np.sort(_distances(example.points, example.points), axis=1)[:, 5]
    assert (_distances(example.y, example.points) <= other).any(axis=1).mean() > 0.9  # yet all of the space is covered


def test_real_points_of_generated_are_in_the_order_of_their_axes():
    spread = examples.generated().y.var(axis=0)
    assert (np.diff(spread) < 0).all()


def _arrays(example):
    for field in fields(example):
        value = getattr(example, field.name)
        if isinstance(value, np.ndarray):
            yield value
        elif not isinstance(value, (int, tuple)):
            held = {name: getattr(value, name, None) for name in ("lower", "upper", "values", "held", "log_densities")}
            yield from (array for array in held.values() if array is not None)


@EACH
def test_examples_and_their_arrays_are_frozen(name):
    example = getattr(examples, name)()
    for array in _arrays(example):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(FrozenInstanceError):
        example.y = None


@pytest.mark.parametrize("name", FILES)
def test_files_hold_no_pickles(name):
    with files("calibrant.examples").joinpath(name).open("rb") as stream:
        archive = np.load(stream, allow_pickle=False)
        assert all(archive[key].dtype.kind in "ifU" for key in archive.files)


def test_files_are_small():
    sizes = {name: len(files("calibrant.examples").joinpath(name).read_bytes()) for name in FILES}
    assert sum(sizes[name] for name in FILES[:4]) < 300_000
    assert sizes["generated.npz"] < 60_000
    assert sum(sizes.values()) < 1_300_000
