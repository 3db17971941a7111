"""Draws of arviz, sbi and BayesFlow: the numbers in their places, the names, and what is refused."""

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


OF_MU = "the truth of 'mu' must have shape (6,), a value for each of 6 cases; got shape "
CASES = {
    "a truth of other cases": ({"mu": np.zeros(5)}, {}, OF_MU + "(5,)"),
    "a truth of one number": ({"mu": 0.5}, {}, OF_MU + "()"),
    "a truth of other coordinates": ({"theta": np.zeros((6, 2))}, {}, "'theta' must have shape (6, 3), a value"),
    "a turned truth": ({"theta": np.zeros((3, 6))}, {}, "got shape (3, 6)"),
    "a list that is too short": ([{"mu": 0.5}] * 5, {}, "truth must have a mapping for each of 6 cases; got 5"),
    "text": ({"mu": ["x"] * 6}, {}, "truth['mu'] must contain numbers; got values of type object"),
    "an array": (np.zeros(6), {}, "truth must be a mapping from names to values, as there are 2 variables: 'mu', 'th"),
    "a case of a list": (TRUTH, {"case": "sim"}, "case= names a dimension of one object; data is a list"),
    "an unknown variable": (TRUTH, {"variables": "sigma"}, "data has no variable 'sigma'; it has 'mu', 'theta'."),
    "an unknown truth": ({**TRUTH, "sigma": np.ones(6)}, {}, "data has no variable 'sigma'"),
    "a variable without truth": (
        {"mu": TRUTH["mu"]},
        {"variables": ["mu", "theta"]},
        "truth has no variable 'theta'; it has 'mu'. Choose with variables=",
    ),
    "no variables": (TRUTH, {"variables": []}, "variables is empty; name at least one, or leave it out"),
}


class TestArvizRefuses:
    def test_truths_and_names(self, refused, dataset, for_each):
        data = [dataset(i) for i in range(6)]

        def check(truth, options, sentence):
            assert sentence in refused(data, truth, **options)

        for_each(CASES, check)

    def test_labels_in_another_order(self, refused, whole, require):
        values = {"mu": ("sim", TRUTH["mu"]), "theta": (("sim", "school"), TRUTH["theta"])}
        for coords, sentence in (
            ({"school": ["b", "a", "c"]}, "'school' of the truth of 'theta' is ['b', 'a', 'c'] and of its draws ['a',"),
            ({"sim": list("zyxwvu")}, "'sim' of the truth of 'mu' is ['z', "),
        ):
            truth = require("xarray").Dataset(values, coords=coords)
            assert refused(whole, truth, case="sim").startswith(sentence)

    def test_groups_that_are_not_there(self, refused, wrapped, dataset):
        for way in ("DataTree", "InferenceData"):
            sentence = refused(wrapped[way](dataset(0)), TRUTH, group="prior")
            assert "with draws in the group 'prior'; got " in sentence
            assert "with the groups 'posterior', " in sentence
            assert sentence.endswith(". Choose with group=")

    @pytest.mark.parametrize("data", [np.zeros((3, 4)), None, "posterior.nc", {"mu": np.zeros(3)}])
    def test_what_is_not_arviz(self, refused, data):
        assert refused(data, TRUTH).endswith(f"in the group 'posterior'; got {type(data).__name__}")
        assert refused([], TRUTH) == "data is an empty list; at least one case is needed"

    def test_one_object_without_its_dimension_of_cases(self, refused, wrapped, whole, dataset):
        """Read silently, the six cases would be coordinates of one row."""
        for way in WAYS:
            sentence = refused(wrapped[way](whole), TRUTH)
            assert "Name the dimension that counts the cases, one of 'sim'" in sentence
            assert "from_arviz(data, truth, case='sim')" in sentence
            assert sentence.endswith("from_arviz([data], truth)")
        assert from_arviz([dataset(0)], {"mu": 0.5}).prediction.n == 1  # as the sentence says
        assert "Name the dimension" not in refused(dataset(0), {"mu": 0.5})

    def test_dimensions(self, refused, dataset, whole, require):
        xarray = require("xarray")
        no_draws = xarray.Dataset({"mu": ("chain", [1.0, 2.0])})
        pupils = xarray.Dataset({"theta": (("sim", "pupil"), TRUTH["theta"])})
        for data, truth, options, sentence in (
            (dataset(0), TRUTH, {"case": "sim"}, "'mu' has no dimension 'sim' (case=); it has chain: 2, draw: 5"),
            ([no_draws], {"mu": 1.0}, {}, "or 'sample'; it has chain: 2"),
            ([dataset(0)], {"theta": np.zeros(2)}, {}, "must have shape (1, 3) or (3,), a value"),
            (whole, pupils, {"case": "sim"}, "dimensions ('school',), and perhaps one of cases; it has sim: 6"),
        ):
            assert sentence in refused(data, truth, **options)

    def test_cases_that_differ(self, refused, dataset):
        broken = dataset(1).copy(deep=True)
        broken["theta"][0, 3, 1] = np.nan
        for other, name, sentence in (
            (dataset(1).isel(draw=slice(None, 3)), "mu", "all cases must have the same number of draws; of 'mu'"),
            (dataset(1).isel(school=[1, 0, 2]), "theta", "'theta' must be alike in all cases;"),
            (broken, "theta", "draws must not be missing; row 1, draw 3, coordinate 1 is nan"),
        ):
            assert refused([dataset(0), other], {name: TRUTH[name][:2]}).startswith(sentence)


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
        np.testing.assert_array_equal(found.prediction.held, self.draws.swapaxes(0, 1))
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

    def test_verbs_take_it(self):
        found = from_sbi(self.draws, self.theta, names=["a", "b", "c"])
        assert found.names == ("a", "b", "c")
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

    def test_what_does_not_belong_to_the_draws(self, refusal):
        message = refusal(from_sbi, self.draws, self.theta, log_density=np.zeros((4, 7)))
        assert message == "log_density must have shape (M, n) = (7, 4), a value for each draw; got (4, 7)"
        for names in (["a", "b"], "abc"):
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
        found = from_bayesflow(SAMPLES, TARGETS, variables="mean")  # one number needs no axis
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
        two = {"a": np.zeros((4, 7)), "b": np.zeros((4, 8, 1))}
        for samples, targets, sentence in (
            (np.zeros((4, 7, 2)), np.zeros((4, 2)), "samples must be a dict from names to arrays; got 'ndarray'."),
            ({}, {}, "samples has no variables; "),
            ({"a": np.zeros((4, 7))}, {"b": np.zeros(4)}, "targets has no variable 'a'; it has 'b'. Choose with"),
            (two, {"a": np.zeros(4), "b": np.zeros((4, 1))}, "all variables must have the same n rows and M draws;"),
        ):
            assert refusal(from_bayesflow, samples, targets).startswith(sentence)
