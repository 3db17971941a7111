"""Draws of arviz, sbi and BayesFlow: the numbers in their places, the names, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest

import calibrant as cb
from calibrant.integrations.draws import from_arviz, from_bayesflow, from_sbi

RNG = np.random.default_rng(4)
MU = RNG.normal(size=(6, 2, 5))  # cases, chains, draws
THETA = RNG.normal(size=(6, 2, 5, 3))
SCHOOLS = ["a", "b", "c"]
TRUTH = {"mu": RNG.normal(size=6), "theta": RNG.normal(size=(6, 3))}
NAMES = ("mu", "theta[a]", "theta[b]", "theta[c]")
WANTED = np.concatenate([MU.reshape(6, 10, 1), THETA.reshape(6, 10, 3)], axis=2)
WANTED_Y = np.column_stack([TRUTH["mu"], TRUTH["theta"]])


def test_nothing_of_it_is_imported():
    code = (
        "import calibrant.integrations.draws, sys\n"
        "print([name for name in ('arviz', 'xarray', 'torch', 'sbi', 'bayesflow', 'keras') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


class OldInferenceData:
    """What arviz had before version 1: groups by name, each a Dataset, listed by a method."""

    def __init__(self, **groups):
        self._held = groups

    def __getitem__(self, name):
        return self._held[name]

    def groups(self):
        return list(self._held)


@pytest.fixture(scope="module")
def dataset(require):
    """Return a function that makes the posterior of a case as a Dataset."""
    xarray = require("xarray")

    def made(i, **extra):
        variables = {"mu": (("chain", "draw"), MU[i]), "theta": (("chain", "draw", "school"), THETA[i]), **extra}
        return xarray.Dataset(variables, coords={"school": SCHOOLS})

    return made


@pytest.fixture(scope="module")
def whole(require):
    """Return the posteriors of all cases as one Dataset, whose dimensions are in an order of their own."""
    xarray = require("xarray")
    variables = {
        "mu": (("draw", "sim", "chain"), MU.transpose(2, 0, 1)),
        "theta": (("school", "chain", "sim", "draw"), THETA.transpose(3, 1, 0, 2)),
    }
    return xarray.Dataset(variables, coords={"school": SCHOOLS, "sim": list("uvwxyz")})


@pytest.fixture(scope="module")
def wrapped(require):
    """Return the ways in which a Dataset comes."""
    xarray = require("xarray")
    from_dict = require("arviz_base").from_dict

    def made_by_arviz(data):
        arrays = {name: data[name].transpose("chain", "draw", ...) for name in data.data_vars}
        return from_dict(
            {"posterior": {name: array.values for name, array in arrays.items()}},
            coords={axis: data[axis].values for axis in data.dims if axis in data.coords},
            dims={name: list(map(str, array.dims[2:])) for name, array in arrays.items()},
        )

    return {
        "Dataset": lambda data: data,
        "DataTree": lambda data: xarray.DataTree.from_dict({"posterior": data, "observed_data": xarray.Dataset()}),
        "a group of a DataTree": lambda data: xarray.DataTree.from_dict({"posterior": data})["posterior"],
        "arviz": made_by_arviz,
        "InferenceData": lambda data: OldInferenceData(posterior=data, sample_stats=data),
    }


WAYS = ["Dataset", "DataTree", "a group of a DataTree", "arviz", "InferenceData"]


def check(found):
    assert found.names == NAMES
    np.testing.assert_array_equal(found.prediction.held, WANTED)
    np.testing.assert_array_equal(found.y, WANTED_Y)


@pytest.mark.parametrize("way", WAYS)
class TestArviz:
    def test_one_object_for_each_case(self, dataset, wrapped, way):
        check(from_arviz([wrapped[way](dataset(i)) for i in range(6)], TRUTH))

    def test_one_object_for_all_cases(self, whole, wrapped, way):
        check(from_arviz(wrapped[way](whole), TRUTH, case="sim"))

    def test_one_case(self, dataset, wrapped, way):
        found = from_arviz([wrapped[way](dataset(2))], {name: values[2] for name, values in TRUTH.items()})
        np.testing.assert_array_equal(found.prediction.held, WANTED[2:3])
        np.testing.assert_array_equal(found.y, WANTED_Y[2:3])

    def test_one_variable_of_numbers_needs_no_axis(self, dataset, wrapped, way):
        found = from_arviz([wrapped[way](dataset(i)) for i in range(6)], TRUTH["mu"], variables="mu")
        assert found.names == ("mu",)
        np.testing.assert_array_equal(found.prediction.held, MU.reshape(6, 10))
        np.testing.assert_array_equal(found.y, TRUTH["mu"])


class TestArvizTruth:
    def test_list_of_mappings(self, dataset):
        truth = [{"mu": float(TRUTH["mu"][i]), "theta": TRUTH["theta"][i].tolist()} for i in range(6)]
        check(from_arviz([dataset(i) for i in range(6)], truth))

    def test_group_with_a_dimension_of_cases(self, whole, require):
        truth = require("xarray").Dataset({"mu": ("sim", TRUTH["mu"]), "theta": (("school", "sim"), TRUTH["theta"].T)})
        check(from_arviz(whole, truth, case="sim"))

    def test_prior_has_a_case_in_each_draw(self, dataset, require):
        variables = {
            "mu": (("chain", "draw"), TRUTH["mu"].reshape(2, 3)),
            "theta": (("chain", "draw", "school"), TRUTH["theta"].reshape(2, 3, 3)),
        }
        prior = require("xarray").Dataset(variables, coords={"school": SCHOOLS})
        check(from_arviz([dataset(i) for i in range(6)], prior))

    def test_what_the_truth_does_not_name_is_left_alone(self, dataset):
        found = from_arviz([dataset(i, tau=(("chain", "draw"), MU[i])) for i in range(6)], TRUTH)
        assert found.names == NAMES

    def test_variables_in_the_order_asked_for(self, dataset):
        found = from_arviz([dataset(i) for i in range(6)], TRUTH, variables=["theta", "mu"])
        assert found.names == (*NAMES[1:], "mu")
        np.testing.assert_array_equal(found.y, np.roll(WANTED_Y, -1, axis=1))

    def test_extracted_draws(self, dataset, require):
        extract = require("arviz_base").extract
        check(from_arviz([extract(dataset(i), keep_dataset=True) for i in range(6)], TRUTH))

    def test_posterior_predictive(self, whole, require):
        tree = require("xarray").DataTree.from_dict({"posterior_predictive": whole, "posterior": whole.isel(sim=0)})
        check(from_arviz(tree, TRUTH, group="posterior_predictive", case="sim"))

    def test_axes_without_labels_are_numbered(self, require):
        data = require("xarray").Dataset({"theta": (("draw", "row", "column"), np.zeros((5, 1, 2)))})
        assert from_arviz([data], {"theta": np.zeros((1, 2))}).names == ("theta[0, 0]", "theta[0, 1]")


@pytest.fixture
def refused(refusal):
    return lambda *args, **options: refusal(from_arviz, *args, **options)


class TestArvizRefuses:
    def test_labels_in_another_order(self, refused, dataset, whole, require):
        xarray = require("xarray")
        values = {"mu": ("sim", TRUTH["mu"]), "theta": (("sim", "school"), TRUTH["theta"])}
        truth = xarray.Dataset(values, coords={"school": ["b", "a", "c"]})
        sentence = refused(whole, truth, case="sim")
        assert sentence.startswith(
            "'school' of the truth of 'theta' is ['b', 'a', 'c'] and of its draws ['a', 'b', 'c']"
        )
        truth = xarray.Dataset(values, coords={"sim": list("zyxwvu")})
        assert refused(whole, truth, case="sim").startswith("'sim' of the truth of 'mu' is ['z', ")

    def test_groups_that_are_not_there(self, refused, wrapped, dataset):
        for way in ("DataTree", "InferenceData"):
            sentence = refused(wrapped[way](dataset(0)), TRUTH, group="prior")
            assert "with draws in the group 'prior'; got " in sentence
            assert "with the groups 'posterior', " in sentence
            assert sentence.endswith(". Choose with group=")

    @pytest.mark.parametrize("data", [np.zeros((3, 4)), None, "posterior.nc", {"mu": np.zeros(3)}])
    def test_what_is_not_arviz(self, refused, data):
        assert refused(data, TRUTH).endswith(f"in the group 'posterior'; got {type(data).__name__}")

    def test_no_cases(self, refused):
        assert refused([], TRUTH) == "data is an empty list; at least one case is needed"

    def test_case_of_a_list(self, refused, dataset):
        assert refused([dataset(0)], TRUTH, case="sim").startswith("case= names a dimension of one object; data is a l")

    def test_one_object_without_its_dimension_of_cases(self, refused, wrapped, whole, dataset):
        """Read silently, the six cases would be coordinates of one row."""
        for way in WAYS:
            sentence = refused(wrapped[way](whole), TRUTH)
            assert sentence.startswith(
                "one object would be one row. Name the dimension that counts the cases, one of 'sim'"
            )
            assert "from_arviz(data, truth, case='sim')" in sentence
            assert sentence.endswith("from_arviz([data], truth)")
        check(from_arviz(whole, TRUTH, case="sim"))  # the calls that the sentence names
        assert from_arviz([dataset(0)], {"mu": 0.5}).prediction.n == 1
        assert "Name the dimension" not in refused(dataset(0), {"mu": 0.5})

    def test_case_that_is_not_there(self, refused, dataset):
        assert refused(dataset(0), TRUTH, case="sim") == (
            "the variable 'mu' has no dimension 'sim' (case=); it has chain: 2, draw: 5"
        )

    def test_variables_without_draws(self, refused, require):
        data = require("xarray").Dataset({"mu": ("chain", [1.0, 2.0])})
        assert refused([data], {"mu": 1.0}).endswith("or 'sample'; it has chain: 2")

    def test_unknown_variables(self, refused, dataset):
        data = [dataset(i) for i in range(6)]
        assert refused(data, TRUTH, variables="sigma") == (
            "data has no variable 'sigma'; it has 'mu', 'theta'. Choose with variables="
        )
        assert refused(data, {**TRUTH, "sigma": np.ones(6)}).startswith("data has no variable 'sigma'")
        assert refused(data, {"mu": TRUTH["mu"]}, variables=["mu", "theta"]) == (
            "truth has no variable 'theta'; it has 'mu'. Choose with variables="
        )
        assert refused(data, TRUTH, variables=[]) == "variables is empty; name at least one, or leave it out"

    def test_an_array_for_several_variables(self, refused, dataset):
        assert refused([dataset(0), dataset(1)], np.zeros(2)).startswith(
            "truth must be a mapping from names to values, as there are 2 variables: 'mu', 'theta'."
        )

    @pytest.mark.parametrize(
        ("truth", "sentence"),
        [
            (
                {"mu": np.zeros(5)},
                "the truth of 'mu' must have shape (6,), a value for each of 6 cases; got shape (5,)",
            ),
            ({"mu": 0.5}, "the truth of 'mu' must have shape (6,), a value for each of 6 cases; got shape ()"),
            (
                {"theta": np.zeros((6, 2))},
                "the truth of 'theta' must have shape (6, 3), a value for each of 6 cases; got",
            ),
            ({"theta": np.zeros((3, 6))}, "got shape (3, 6)"),
            ([{"mu": 0.5}] * 5, "truth must have a mapping for each of 6 cases; got 5"),
            ({"mu": ["x"] * 6}, "truth['mu'] must contain numbers; got values of type object"),
        ],
    )
    def test_shapes_of_the_truth(self, refused, dataset, truth, sentence):
        assert sentence in refused([dataset(i) for i in range(6)], truth)

    def test_shape_of_the_truth_of_one_case(self, refused, dataset):
        assert "must have shape (1, 3) or (3,), a value" in refused([dataset(0)], {"theta": np.zeros(2)})

    def test_dimensions_of_the_truth(self, refused, whole, require):
        truth = require("xarray").Dataset({"theta": (("sim", "pupil"), TRUTH["theta"])})
        assert refused(whole, truth, case="sim") == (
            "the truth of 'theta' must have the dimensions ('school',) of one value, and perhaps one of cases; "
            "it has sim: 6, pupil: 3"
        )

    def test_cases_that_differ(self, refused, dataset):
        short, turned = dataset(1).isel(draw=slice(None, 3)), dataset(1).isel(school=[1, 0, 2])
        assert refused([dataset(0), short], {"mu": np.zeros(2)}) == (
            "all cases must have the same number of draws; of 'mu' case 0 has 10 and case 1 6. "
            "Cut or thin the longer ones"
        )
        assert refused([dataset(0), turned], {"theta": np.zeros((2, 3))}).startswith(
            "'theta' must be alike in all cases;"
        )

    def test_missing_draws(self, refused, dataset):
        broken = dataset(1).copy(deep=True)
        broken["theta"][0, 3, 1] = np.nan
        assert refused([dataset(0), broken], {"theta": np.zeros((2, 3))}).startswith(
            "draws must not be missing; row 1, draw 3, coordinate 1 is nan"
        )


@pytest.fixture(scope="module", params=["numpy", "torch"])
def tensor(request, require):
    """Return a function that makes an array or a tensor."""
    return np.array if request.param == "numpy" else require("torch").tensor


class TestSbi:
    draws = RNG.normal(size=(7, 4, 3)).astype(np.float32)  # draws, observations, parameters
    theta = RNG.normal(size=(4, 3)).astype(np.float32)

    def test_rows_come_first(self, tensor):
        found = from_sbi(tensor(self.draws), tensor(self.theta))
        assert (found.prediction.n, found.prediction.M, found.prediction.shape) == (4, 7, (3,))
        assert found.prediction.held.dtype == np.float32
        for i, j, k in np.ndindex(4, 7, 3):
            assert found.prediction.held[i, j, k] == self.draws[j, i, k]
        np.testing.assert_array_equal(found.y, self.theta)
        assert found.names == ("theta[0]", "theta[1]", "theta[2]")

    def test_gradients_are_no_hindrance(self, require):
        tensor = require("torch").tensor(self.draws, requires_grad=True)
        np.testing.assert_array_equal(from_sbi(tensor, self.theta).prediction.held, self.draws.swapaxes(0, 1))

    def test_log_densities_are_turned_too(self, tensor):
        log_density = RNG.normal(size=(7, 4))
        found = from_sbi(tensor(self.draws), tensor(self.theta), log_density=tensor(log_density))
        np.testing.assert_array_equal(found.prediction.log_densities, log_density.T)

    def test_one_parameter(self, tensor):
        found = from_sbi(tensor(self.draws[:, :, :1]), tensor(self.theta[:, :1]))
        np.testing.assert_array_equal(found.prediction.held, self.draws[:, :, 0].T)
        assert (found.y.shape, found.names) == ((4,), ("theta",))

    def test_names(self):
        assert from_sbi(self.draws, self.theta, names=["a", "b", "c"]).names == ("a", "b", "c")

    def test_verbs_take_it(self):
        found = from_sbi(self.draws, self.theta)
        assert cb.ranks(found.y, found.prediction).tolist() == (self.draws < self.theta).sum(axis=0).tolist()

    @pytest.mark.parametrize(
        ("draws", "theta", "sentence"),
        [
            ((4, 7, 3), (4, 3), "got (4, 7, 3) and (4, 3). These draws have rows first: they need no reader"),
            ((7, 4, 3), (4, 2), "got (7, 4, 3) and (4, 2). Take the parameters of the observations that"),
            ((7, 4, 3), (5, 3), "got (7, 4, 3) and (5, 3). Take the parameters"),
            ((7, 3), (3,), "For one observation pass draws[:, None] and theta[None]"),
            ((7, 3), (1, 3), "For one observation pass draws[:, None] and theta[None]"),
            ((7, 4, 1), (4,), "Pass theta[:, None] for one parameter, or theta[None] for one observation"),
        ],
    )
    def test_shapes_that_do_not_fit(self, refusal, draws, theta, sentence):
        message = refusal(from_sbi, np.zeros(draws), np.zeros(theta))
        assert message.startswith("draws must have shape (M, n, D) and theta (n, D); got ")
        assert sentence in message

    def test_log_densities_that_do_not_fit(self, refusal):
        message = refusal(from_sbi, self.draws, self.theta, log_density=np.zeros((4, 7)))
        assert message.startswith("log_density must have shape (M, n) = (7, 4), ")
        assert message.endswith("got (4, 7)")

    @pytest.mark.parametrize("names", [["a", "b"], "abc"])
    def test_names_that_do_not_fit(self, refusal, names):
        message = refusal(from_sbi, self.draws, self.theta, names=names)
        assert message == f"names must be one name for each of the 3 parameters; got {names!r}"


SAMPLES = {"mean": RNG.normal(size=(4, 7, 1)), "slope": RNG.normal(size=(4, 7, 2)), "sd": RNG.normal(size=(4, 7))}
TARGETS = {
    "data": np.zeros((4, 20, 2)),
    "slope": RNG.normal(size=(4, 2)),
    "mean": RNG.normal(size=(4, 1)),
    "sd": RNG.normal(size=(4, 1)),
}


class TestBayesFlow:
    def test_numbers_in_their_places(self):
        found = from_bayesflow(SAMPLES, TARGETS)
        assert found.names == ("mean", "slope[0]", "slope[1]", "sd")
        wanted = [SAMPLES["mean"], SAMPLES["slope"], SAMPLES["sd"][..., None]]
        np.testing.assert_array_equal(found.prediction.held, np.concatenate(wanted, axis=2))
        np.testing.assert_array_equal(found.y, np.column_stack([TARGETS[name] for name in ("mean", "slope", "sd")]))

    def test_some_variables(self):
        found = from_bayesflow(SAMPLES, TARGETS, variables=["sd", "mean"])
        assert found.names == ("sd", "mean")
        np.testing.assert_array_equal(found.y[:, 1], TARGETS["mean"][:, 0])

    def test_one_number_needs_no_axis(self):
        found = from_bayesflow(SAMPLES, TARGETS, variables="mean")
        np.testing.assert_array_equal(found.prediction.held, SAMPLES["mean"][..., 0])
        assert found.y.shape == (4,)

    def test_matrices(self):
        samples, targets = {"cov": RNG.normal(size=(4, 7, 2, 2))}, {"cov": RNG.normal(size=(4, 2, 2))}
        found = from_bayesflow(samples, targets)
        assert found.names == ("cov[0, 0]", "cov[0, 1]", "cov[1, 0]", "cov[1, 1]")
        np.testing.assert_array_equal(found.prediction.held[2, 3], samples["cov"][2, 3].ravel())

    @pytest.mark.parametrize(
        ("samples", "targets", "sentence"),
        [
            ((4, 7, 2), (5, 2), "(n, d); got (4, 7, 2) and (5, 2). Take the targets of the data sets"),
            ((4, 7, 2), (4, 3), "(n, d); got (4, 7, 2) and (4, 3). Take the targets"),
            ((7, 4, 2), (4, 2), "(n, d); got (7, 4, 2) and (4, 2). The draws look turned: data sets come first"),
            ((4,), (4,), "samples['a'] must have shape (n, M, d) and targets['a'] (n, d); got (4,) and (4,)"),
        ],
    )
    def test_shapes_that_do_not_fit(self, refusal, samples, targets, sentence):
        assert sentence in refusal(from_bayesflow, {"a": np.zeros(samples)}, {"a": np.zeros(targets)})

    def test_other_things_that_do_not_fit(self, refusal):
        assert refusal(from_bayesflow, np.zeros((4, 7, 2)), np.zeros((4, 2))).startswith(
            "samples must be a dict from names to arrays; got 'ndarray'. Draws in one array (n, M, D) need no"
        )
        assert refusal(from_bayesflow, {}, {}).startswith("samples has no variables; ")
        assert refusal(from_bayesflow, {"a": np.zeros((4, 7))}, {"b": np.zeros(4)}) == (
            "targets has no variable 'a'; it has 'b'. Choose with variables="
        )
        samples = {"a": np.zeros((4, 7)), "b": np.zeros((4, 8, 1))}
        assert refusal(from_bayesflow, samples, {"a": np.zeros(4), "b": np.zeros((4, 1))}) == (
            "all variables must have the same n rows and M draws; 'a' has (n, M) = (4, 7) and 'b' (4, 8). "
            "Take them from the same draws"
        )
