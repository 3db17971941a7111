"""What users see: names, signatures, docstrings and errors."""

import inspect
import re
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest

import calibrant
from calibrant.core.calls import choices_of
from calibrant.core.catalogue import entries, find
from calibrant.errors import CallError
from calibrant.inputs.kinds import AUDITED, JUDGES
from calibrant.lazy import PEERS, ours
from calibrant.recalibrating.methods import METHODS

ENTRIES = entries()
SHARED = ("weights", "classes", "pos_label")
EXPORTED = {name: getattr(calibrant, name) for name in calibrant.__all__}
# with verbs that are not typed every day
SUBJECTS = (calibrant.probabilities, calibrant.kernel_errors, calibrant.ranking, calibrant.regions)
LAZY = (calibrant.points, calibrant.kernels, calibrant.results, calibrant.summaries, *SUBJECTS)
VERBS = EXPORTED | {name: getattr(subject, name) for subject in SUBJECTS for name in subject.__all__}
FUNCTIONS = {name: value for name, value in VERBS.items() if isinstance(value, FunctionType)}


# Verbs with an option that is a confidence level, and what they need to be called.
NOMINAL = {"recovery", "sharpness"}  # whose level is the nominal coverage of intervals
NAMES_OF_CONFIDENCE = {"expected_coverage": "confidence"}
OTHERS = {"compare": calibrant.points.compare}
DRAWS = calibrant.Samples([[0.1, 0.5, 0.9]] * 2)
ARGUMENTS = {
    "interval": ("ece", [0, 1], [0.2, 0.7]),
    "power": ([0.2, 0.7],),
    "compare_predictions": ([0, 1], [[0.2, 0.7], [0.3, 0.6]]),
    "explain": ([0.3, 0.4], DRAWS),
    "recalibration_gain": ([0, 1] * 50, [0.2, 0.7] * 50),
    "compare": ([[0.0], [1.0]], [[0.0], [1.0]]),
}


class TestNames:
    def test_all_is_what_is_public(self):
        modules = {name for name, value in EXPORTED.items() if isinstance(value, ModuleType)}
        public = {
            name
            for name, value in vars(calibrant).items()
            if not name.startswith("_") and not isinstance(value, ModuleType)
        }
        assert public | modules == {name for name in calibrant.__all__ if not name.startswith("_")}
        spaces = "errors examples kernel_errors kernels points probabilities ranking regions results summaries"
        assert modules == set(spaces.split())

    def test_completion_lists_public_names_only(self):
        for package in (calibrant, *LAZY):
            assert {name for name in dir(package) if not name.startswith("__")} == {
                name for name in package.__all__ if not name.startswith("__")
            }

    def test_names_of_other_namespaces_are_refused_with_a_pointer(self, for_each):
        def check(space):
            for name in space.__all__:
                with pytest.raises(AttributeError, match=rf"'{name}'; it is {space.__name__}\.{name}$"):
                    getattr(calibrant, name)

        for_each(list(LAZY), check)
        with pytest.raises(
            AttributeError, match=r"module 'calibrant.points' has no attribute 'ece'; it is calibrant\.ece$"
        ):
            _ = calibrant.points.ece
        with pytest.raises(AttributeError, match=r"module 'calibrant' has no attribute 'ecce'. Did you mean ece\?$"):
            _ = calibrant.ecce

    def test_names_of_other_packages_are_answered(self, refusal, for_each):
        def check(name):
            with pytest.raises(AttributeError) as caught:
                getattr(calibrant, name)
            _, found, answer = str(caught.value).partition(f"has no attribute {name!r}; it is ")
            calls = re.findall(r"calibrant\.([\w.]*\w)(?:\((.*)\))?", answer)
            assert found
            assert calls or answer.partition(": ")[2].startswith("sklearn.metrics.")
            for path, arguments in calls:
                here = attrgetter(path)(calibrant)
                parameters = inspect.signature(here).parameters
                nested = re.sub(r"Samples\([^)]*\)", "", arguments)
                for option, value in re.findall(r"(\w+)='?([\w-]+)", nested):
                    known = choices_of(here) | {"method": [name for methods in METHODS.values() for name in methods]}
                    assert option in parameters
                    assert value in map(str, known.get(option, [value]))
            if not answer.startswith("not here") and ours(name) in ENTRIES:
                assert refusal(find, name).endswith(f"Did you mean {ours(name)!r}?")

        assert not set(PEERS) & set(VERBS)
        assert len(PEERS) > 100
        for_each(list(PEERS), check)
        assert "interval(ece, y, p); a distribution has .interval(level)" in refusal(calibrant.interval, [0.5], DRAWS)

    @pytest.mark.parametrize("verb", [name for name, entry in ENTRIES.items() if "intervals" in entry.predictions])
    def test_verbs_of_intervals_point_to_those_of_draws(self, verb, refusal):
        given = [[0.1, 0.2], DRAWS][not ENTRIES[verb].outcome :]
        if not {"samples", "distributions"} & set(ENTRIES[verb].predictions):
            advice = ENTRIES[verb].instead.get("samples", "Call .interval(level) on it")
            assert refusal(VERBS[verb], *given).endswith(f". {advice}")

    def test_a_name_stands_in_one_place(self):
        for package in (calibrant, calibrant.points, calibrant.kernels, *SUBJECTS):
            inside = {path.stem for path in Path(package.__file__).parent.iterdir()}
            modules = {name for name in package.__all__ if isinstance(getattr(package, name), ModuleType)}
            assert not inside & (set(package.__all__) - modules)
        assert len(VERBS) == len(EXPORTED) + sum(len(subject.__all__) for subject in SUBJECTS)
        assert list(calibrant.__all__) == sorted(set(calibrant.__all__))

    def test_every_verb_is_exported(self, for_each):
        def check(name):
            assert VERBS[name] is ENTRIES[name].verb
            assert VERBS[name].__name__ == name
            assert find(name) is find(VERBS[name]) is ENTRIES[name]

        for_each(list(ENTRIES), check)

    def test_version(self):
        assert re.fullmatch(r"\d+\.\d+\.\d+\S*", calibrant.__version__)


class TestSignatures:
    def test_outcome_prediction_then_keywords(self, for_each):
        def check(name):
            first = ["y", "prediction"] if ENTRIES[name].outcome else ["prediction"]
            parameters = list(inspect.signature(VERBS[name]).parameters.values())
            assert [p.name for p in parameters[: len(first)]] == first
            others = parameters[len(first) :]
            assert all(option.kind is inspect.Parameter.KEYWORD_ONLY for option in others)
            assert all(option.default is not inspect.Parameter.empty for option in others)
            shared = {option.name for option in others}
            kinds = set(ENTRIES[name].predictions)
            assert "weights" in shared
            assert ("pos_label" in shared) == ("binary" in kinds)
            assert ("classes" in shared) == (bool({"binary", "classes", "sets"} & kinds) and ENTRIES[name].outcome)

        for_each(list(ENTRIES), check)

    def test_options_of_the_catalogue_are_those_of_the_signature(self, for_each):
        def check(name):
            entry = ENTRIES[name]
            parameters = inspect.signature(entry.verb).parameters
            others = {"y", "prediction", *SHARED}
            assert {key: p.default for key, p in parameters.items() if key not in others} == dict(entry.defaults)
            assert {field.name for field in fields(entry.options)} == set(entry.defaults)

        for_each(list(ENTRIES), check)

    @pytest.mark.parametrize(
        "name",
        ["audit", "consistency_test", "explain", "one_vs_rest", "pit", "top_label", "worst_slab_coverage", "z_scores"],
    )
    def test_other_functions_take_the_outcome_first_too(self, name):
        assert list(inspect.signature(VERBS[name]).parameters)[:2] == ["y", "prediction"]

    def test_unknown_options_are_refused_with_the_list(self, for_each, refusal):
        def check(name):
            given = ([0, 1], [0.2, 0.7]) if ENTRIES[name].outcome else ([0.2, 0.7],)
            message = refusal(VERBS[name], *given, colour="red")
            assert message.startswith(f"{name} has no option colour. Its options are ")

        for_each(list(ENTRIES), check)

    @pytest.mark.parametrize(
        ("name", "given", "call"),
        [
            ("audit", {"alpha": 0.05}, "audit(y, prediction, level=0.95), where level is 1 - alpha"),
            ("audit", {"tol": 0.05}, "audit(y, prediction, tolerance=0.05)"),
            ("audit", {"sensitive_features": ["a"], "random_state": 3}, "audit(y, prediction, groups=..., rng=3)"),
            ("power", {"alpha": 0.1, "level": 0.9}, "power(prediction, level=0.9), where level is 1 - alpha"),
            ("interval", {"confidence_level": 0.9}, "interval(ece, y, prediction, level=0.9)"),
            ("compare_predictions", {"metrics": "crps"}, "compare_predictions(y, {'a': p, 'b': q}, metric='crps')"),
            ("equivalence_test", {"margin": 0.05}, "equivalence_test(y, prediction, tolerance=0.05)"),
            ("recalibration_gain", {"cv": 5}, "recalibration_gain(y, prediction, folds=5)"),
            (
                "ece",
                {"y_true": [1], "y_prob": [0.2], "n_bins": 5, "norms": "l2"},
                "ece(y, prediction, bins=5, norm='l2')",
            ),
            ("ece", {"colour": "red", "n_bins": 5}, "ece(y, prediction, bins=5)"),
            ("ece", {"preds": [0.2], "target": [1], "n_bins": 15}, "ece(y, prediction, bins=15)"),
            ("measure", {"metrics": "ece", "p": [0.2]}, "measure([ece, mce], data, prediction=...)"),
            ("scan", {"p": "p", "by": "g"}, "scan(path, y=..., prediction='p', groups='g')"),
            ("compare", {"alpha": 0.05}, "compare(y, points, level=0.95), where level is 1 - alpha"),
        ],
    )
    def test_words_of_other_packages_are_answered_with_the_call(self, refusal, name, given, call):
        assert f". Did you mean {call}? Its options are " in refusal((VERBS | OTHERS)[name], **given)

    def test_choices_are_those_of_the_annotations(self, for_each, refusal):
        def check(verb):
            needed = [p for p in inspect.signature(verb).parameters.values() if p.default is p.empty]
            arguments = {p.name: [0.2, 0.7] for p in needed if p.kind is not p.VAR_KEYWORD}
            for option, choices in choices_of(verb).items():
                for wrong in ("no such", 1.0, "", np.array(choices)):
                    message = refusal(verb, **{**arguments, option: wrong})
                    assert message.startswith(f"{option} must be one of {', '.join(map(repr, choices))}; got ")
                    if verb.__name__ in ENTRIES:
                        assert refusal(find(verb).parse, {option: wrong}) == message

        verbs = FUNCTIONS | {name: getattr(calibrant.points, name) for name in calibrant.points.__all__}
        for_each({name: (verb,) for name, verb in verbs.items() if isinstance(verb, FunctionType)}, check)

    @pytest.mark.parametrize(
        ("name", "option", "words"),
        [
            ("audit", "n_bins", "ece and reliability_curve take bins="),
            ("ranks", "sample_weight", "weights go to summarize(ranks, y, prediction, weights=...)"),
            ("equivalence_test", "alpha", "Compare its p-value"),
            ("power", "power", "The power that is aimed at is target="),
            ("power", "n", ".rows of the result is the number that it takes"),
            ("power", "relative", "error= and tolerance= are differences of probabilities"),
        ],
    )
    def test_what_a_verb_does_not_have_is_pointed_to(self, refusal, name, option, words):
        assert words in refusal(VERBS[name], [0, 1], [0.2, 0.7], **{option: 10})

    @pytest.mark.parametrize(
        ("name", "given", "call"),
        [
            ("compare_predictions", 3, "compare_predictions(y, {'a': p, 'b': q})"),
            ("compare_predictions", 1, "compare_predictions(y, {'a': p, 'b': q})"),
            ("audit", 1, "audit(y, prediction)"),
            ("equivalence_test", 2, "equivalence_test(y, prediction, tolerance=0.02)"),
            ("equivalence_test", 3, "equivalence_test(y, prediction, tolerance=0.02)"),
            ("power", 2, "power(prediction)"),
            ("simulate_calibration", 3, "simulate_calibration(prior, simulator, sampler, n=200, draws=99)"),
        ],
    )
    def test_wrong_calls_show_one_that_works(self, refusal, name, given, call):
        assert f"Call it as {call}" in refusal(VERBS[name], *[[0.2, 0.7]] * given, error=CallError)

    def test_an_argument_given_twice_shows_the_call(self, refusal):
        message = refusal(calibrant.interval, [0, 1], [0.2, 0.7], metric="ece", error=CallError)
        assert message == "interval got metric by position and by name. Call it as interval(ece, y, prediction)"

    def test_a_prediction_of_another_kind_is_pointed_on(self, refusal, for_each):
        def check(verb, prediction, words):
            assert refusal(verb, [0.5, 1.5], prediction).endswith(f". {words}")

        low, high = [0.0, 1.0, 2.0], [1.0, 2.0, 3.0]
        bounds = "Pass a pair of bounds as Intervals(lower, upper, level), with a level such as 0.9"
        cases = [
            (calibrant.coverage, (low, high), bounds),
            (calibrant.coverage, [low, high], bounds),
            (calibrant.crps, calibrant.Intervals(low, high, 0.9), JUDGES["intervals"]),
            (calibrant.pit, calibrant.Intervals(low, high, 0.9), JUDGES["intervals"]),
            (calibrant.ece, DRAWS, JUDGES["samples"]),
            (calibrant.coverage_curve, DRAWS, "Call .interval(level) on it"),
        ]
        for_each(cases, check)
        for kind, words in JUDGES.items():
            for verb in re.findall(r"\w+", words.partition(" judge")[0].replace(" and ", ", ")):
                assert kind in (AUDITED if verb == "audit" else ENTRIES[verb].predictions)

    def test_an_error_rate_is_not_a_confidence_level(self, refusal, for_each):
        question = "must be at least 0.5: it is a confidence level, never alpha; got 0.05. Did you mean 0.95?"

        def check(name):
            option = NAMES_OF_CONFIDENCE.get(name, "level")
            if name in ENTRIES:
                assert question in refusal(ENTRIES[name].parse, {option: 0.05})
            else:
                verb = OTHERS[name] if name in OTHERS else VERBS[name]
                assert question in refusal(verb, *ARGUMENTS.get(name, ([0, 1], [0.2, 0.7])), **{option: 0.05})

        taking = {name for name, verb in FUNCTIONS.items() if "level" in inspect.signature(verb).parameters}
        for_each([*(taking - NOMINAL), *NAMES_OF_CONFIDENCE, *OTHERS], check)

    def test_options_are_never_positional(self, for_each):
        def check(name):
            with pytest.raises(TypeError, match="positional"):
                VERBS[name]([0, 1], [0.2, 0.7], 15)

        for_each(list(ENTRIES), check)


class TestDocstrings:
    def test_has_an_example_that_runs(self, for_each):
        def check(name):
            text = inspect.getdoc(FUNCTIONS[name])
            assert re.search(r"^Parameters\n-+\n", text, re.MULTILINE)
            examples = re.search(r"^Examples\n-+\n(.*)", text, re.MULTILINE | re.DOTALL)
            assert examples, f"{name} has no Examples section"
            assert ">>> " in examples[1]

        for_each(list(FUNCTIONS), check)

    def test_every_option_is_explained(self, for_each):
        def check(name):
            text = inspect.getdoc(VERBS[name])
            parameters = re.search(r"^Parameters\n-+\n(.*?)^\w+\n-+\n", text, re.MULTILINE | re.DOTALL)[1]
            named = {
                word for line in re.findall(r"^\S.*$", parameters, re.MULTILINE) for word in re.findall(r"\w+", line)
            }
            options = set(inspect.signature(VERBS[name]).parameters)
            assert options <= named
            assert named & set(SHARED) <= options

        for_each(list(ENTRIES), check)

    def test_everything_public_is_documented(self, for_each):
        public = {name: getattr(space, name) for space in (calibrant, *LAZY) for name in space.__all__}
        documented = {name: value for name, value in public.items() if not name.startswith("_")}
        for name, value in public.items():
            if inspect.isclass(value):
                members = {key: member for key, member in vars(value).items() if not key.startswith("_")}
                methods = (FunctionType, classmethod, staticmethod, property)
                found = [key for key, member in members.items() if isinstance(member, methods)]
                documented |= {f"{name}.{key}": getattr(value, key) for key in found}

        def check(name):
            assert inspect.getdoc(documented[name])

        for_each(list(documented), check)


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "builtin"),
        [
            (calibrant.errors.InputError, ValueError),
            (calibrant.errors.SummaryError, ValueError),
            (calibrant.errors.MissingExtraError, ImportError),
        ],
    )
    def test_are_of_their_own_kind_and_of_a_built_in_one(self, error, builtin):
        assert issubclass(error, calibrant.errors.CalibrantError)
        assert issubclass(error, builtin)

    def test_missing_extra_names_what_to_install(self):
        error = calibrant.errors.MissingExtraError("a plot", extra="plot")
        assert str(error) == "a plot needs an optional library that is not installed; pip install 'calibrant[plot]'"


class TestSummaries:
    def test_other_summaries_are_refused_with_the_way_to_make_one(self, for_each, refusal):
        def check(name):
            class Foreign(calibrant.summaries.Summary):
                n = 1

            try:
                message = refusal(VERBS[name], Foreign(), error=calibrant.errors.SummaryError)
            finally:
                del calibrant.summaries.Summary.kinds["Foreign"]
            assert message.startswith(f"{name} ")
            assert "Foreign" in message
            assert all(kind.__name__ in message for kind in ENTRIES[name].reads)
            assert f"summarize({name!r}, y, prediction)" in message

        for_each(list(ENTRIES), check)

    def test_no_rows(self, for_each, refusal):
        def check(name):
            assert "there are no rows" in refusal(VERBS[name], ENTRIES[name].reads[0].zero())

        for_each(list(ENTRIES), check)

    @pytest.mark.parametrize("given", ["prediction", "weights", "classes", "pos_label"])
    def test_nothing_goes_beside_a_summary(self, given, refusal):
        summary = calibrant.summarize("ece", [0, 1], [0.2, 0.7])
        message = refusal(calibrant.ece, summary, **{given: [0, 1]})
        assert message == f"{given} cannot be given with a summary, which has the rows already"
