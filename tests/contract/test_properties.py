"""Every verb of the catalogue, with its important options, has every property on data of every kind it accepts."""

import inspect

import numpy as np
import pytest

from calibrant import Normal
from calibrant.core.catalogue import entries, find
from calibrant.errors import CalibrantError
from calibrant.inputs.kinds import KINDS
from calibrant.kernels import Delta, Exponential, Gaussian, Matern32
from calibrant.probabilities.canonical import MedianVariance
from calibrant.testing import DATA, PROPERTIES, PerRow, VerbUnderTest
from calibrant.testing.data import names_of
from calibrant.testing.verbs import broken_properties

ENTRIES = entries()

GROUPS = PerRow(("a", "b", "c"))
MEDIANS = COVARIATES = PerRow((-0.5, 0.0, 0.5))
NORMAL_LOCATIONS = (Normal([0.0, 1.0], 1.0), [0.5, 0.0])
ONE_LEVEL = ("one interval", "one set", "one quantile")
SEVERAL_LEVELS = ("intervals", "sets", "quantiles")
WITHOUT_DISTRIBUTION = ("binary", "classes", *SEVERAL_LEVELS, *ONE_LEVEL)
OF_SETS = ("sets", "one set", "sets without level")
OF_COUNTS = ("christoffersen_test", "coverage_test", "kupiec_test", "multinomial_coverage_test")

RANK_TESTS = (
    "rank_cauchy_test",
    "rank_chi2_test",
    "rank_edf_test",
    "rank_score_test",
    "rank_smooth_test",
    "uniformity_test",
)
SEARCHES = ("conditional_map", "conditional_test")
RANKED = ("ecdf_difference", "expected_coverage", "rank_histogram", *RANK_TESTS)
# As few redraws as will do. The number of locations is the default, written out so that it can be exempted.
DEFAULTS = {
    "cme_test": {"locations": 10, "resamples": 19},
    "skce_test": {"resamples": 19},
    "ucme": {"locations": 10},
    "coverage_gap": {"groups": GROUPS},
    "christoffersen_test": {"method": "conditional"},
    "coverage_width_criterion": {"variant": "jensen"},
    "width": {"statistic": "mean"},
    **{name: {"rng": 0} for name in RANKED},
    "rank_score_test": {"rng": 0, "covariates": COVARIATES},
    "rank_exchange_test": {"rng": 0, "resamples": 99},
    "conditional_test": {"rng": 0, "covariates": COVARIATES, "resamples": 19},
    "conditional_map": {"rng": 0, "covariates": COVARIATES, "resamples": 19},
}
OF_LEVELS = ("sets", "one set")
JENSEN = {"variant": "jensen"}
SHORT, SUM = Exponential(0.25), Exponential(0.25) * Gaussian(1.0)
DISTRIBUTIONS = ("distributions", "samples", "vectors")
CHOSEN = {"locations": ([0.2, 0.7], [1, 0])}


def each(name, *options, data=()):
    """Return options of a verb, and the names of data they are for; without names all of the kinds that it judges."""
    return [(name, chosen, *data) for chosen in options]


VARIANTS = [
    *each("ece", {"strategy": "mass"}, {"bins": 101}, {"bins": "cube-root", "norm": "l2"}, {"bins": "sweep"}),
    *each("ece", {"norm": "l2-squared", "debias": True, "bins": 3}),
    *each("ece", {"notion": "canonical"}, {"notion": "canonical", "bins": 3}),
    *each("ece", *({"notion": "canonical", "bins": cut} for cut in (MedianVariance(minsize=5), MedianVariance(2, 7)))),
    *each("mce", {"strategy": "mass"}),
    *each("log_score", {"clip": 0.01}, data=("binary", "classes")),
    *each("decompose", {"score": "log"}, {"method": "bins", "strategy": "mass"}, data=("binary",)),
    *each("decompose", {"method": "hersbach"}, data=("samples",)),
    *each("decompose", {"levels": [0.1, 0.5, 0.9]}, data=("distributions",)),
    *each("direction", {"strategy": "mass"}),
    *((f"{name}_test", {"null": "monte-carlo", "resamples": 99}) for name in ("kuiper", "spiegelhalter")),
    ("kolmogorov_smirnov_test", {"null": "monte-carlo", "resamples": 99}),
    *(("reliability_curve", {"strategy": given, "resamples": 99}, "binary") for given in ("mass", "isotonic")),
    *each("mmce", {"bandwidth": 0.4, "balanced": True}),
    *each("width", *({"statistic": name} for name in ("median", "finite_mean", "finite_fraction"))),
    *each("width", *({"statistic": f"{name}_fraction"} for name in ("empty", "singleton")), data=OF_SETS),
    *each("interval_score", *({"part": part} for part in ("width", "below", "above"))),
    *each(
        "weighted_interval_score",
        *({"part": part} for part in ("dispersion", "below", "above")),
        data=("intervals", "quantiles"),
    ),
    *each("weighted_interval_score", {"median": MEDIANS}, data=("intervals", "one interval")),
    *each("coverage_width_criterion", {"variant": "khosravi"}, {**JENSEN, "eta": 5.0, "normalizer": 4.0}),
    *each("size_stratified_coverage", {"bins": 5}),
    *each("size_stratified_coverage", {"bins": [(0, 1), (2, 4)], "empty": "own"}, data=OF_SETS),
    ("size_stratified_coverage", {"summary": "violation", "min_count": 3}, *SEVERAL_LEVELS[:2], *ONE_LEVEL[:2]),
    *each("coverage_gap", {}, data=OF_LEVELS),
    *each("coverage_gap", *({"groups": GROUPS, "average": a} for a in ("weighted", "max")), data=SEVERAL_LEVELS),
    *each("coverage_hsic", {"scale": 0.5, "root": True}, {"kernel": "exponential", "coverage_scale": 0.5}),
    *each("coverage_curve", {"groups": GROUPS, "simultaneous": True}, {"method": "wilson"}),
    *each("coverage_curve", {"method": "clopper-pearson"}),
    *each("coverage_curve", {"groups": "size", "bins": 4}, data=("intervals", "one interval")),
    *each("coverage_curve", {"groups": "size", "empty": "own"}, data=OF_SETS),
    *each("coverage_curve", {"groups": "size"}, data=("intervals", "one set")),
    *each("coverage_test", {"alternative": "less", "calibration_size": 50}, {"groups": GROUPS}, data=ONE_LEVEL),
    *each("kupiec_test", {"null": "asymptotic"}, data=ONE_LEVEL),
    *each("christoffersen_test", {"method": "independence"}, data=ONE_LEVEL),
    *each("christoffersen_test", {"method": "conditional", "series": GROUPS, "resamples": 99}, data=ONE_LEVEL),
    *each("christoffersen_test", {"method": "independence", "series": GROUPS, "resamples": 99}, data=ONE_LEVEL),
    *each("crps", {"fair": True}, data=("samples", "vectors")),
    *each("energy_score", {"fair": True, "beta": 0.5}),
    *each("skill", {"score": "energy"}, data=("samples", "vectors")),
    *each("skill_test", {"score": "log", "climatology": PerRow((-1.0, -2.0))}, data=("distributions",)),
    *each("sharpness", {"statistic": "rms"}, {"statistic": "log_det"}),
    *(("sharpness", {"statistic": "width", "level": q}, *DISTRIBUTIONS[:2]) for q in (0.5, [0.25, 0.5])),
    *each("pit_histogram", {"bins": 7}),
    *each("rank_histogram", {"rng": 0, "bins": 3, "multiplicity": "none"}),
    *each("ecdf_difference", {"rng": 0, "points": 3}),
    *each("expected_coverage", {"rng": 0, "levels": [0.5, 0.9]}),
    *each("conditional_test", {"rng": 0, "covariates": COVARIATES, "resamples": 19, "method": "trend"}),
    *each("rank_edf_test", *({"rng": 0, "method": m} for m in ("cvm", "ad"))),
    *each("rank_chi2_test", {"rng": 0, "bins": 3}),
    *each("uniformity_test", {"rng": 0, "groups": GROUPS}),
    *each("rank_exchange_test", *({"rng": 0, "resamples": 99, "method": m} for m in ("smooth", "chi2"))),
    *each("uniformity_test", *({"rng": 0, "multiplicity": m} for m in ("bonferroni", "none")), data=("vectors",)),
    *each("skce", {"unbiased": False, "kernel": SHORT}),
    ("skce", {"kernel": SHORT, "blocksize": 5}, "classes", "sets", "quantiles", "one quantile"),
    ("skce", {"kernel": SHORT, "blocksize": 7, "unbiased": False}, "binary", "classes", "intervals"),
    *each("skce", {"kernel": SUM, "blocksize": 5}, data=DISTRIBUTIONS),
    ("skce", {"kernel": Gaussian(0.25) * Gaussian(1.0, "labels"), "unbiased": False}, "binary"),
    ("skce", {"kernel": Matern32(distance="euclidean") * Delta()}, "classes"),
    ("skce", {"kernel": Exponential(distance="embedding") * Exponential()}, "distributions"),
    *each("ucme", {"locations": 3}, data=("classes", "distributions")),
    *each("ucme", {**CHOSEN, "kernel": SHORT}, data=("binary",)),
    *each("ucme", {"locations": ([[0.1, 0.2, 0.3, 0.4]], [2]), "kernel": SHORT}, data=("classes",)),
    *each("ucme", {"locations": NORMAL_LOCATIONS, "kernel": Exponential(1.0) * Gaussian(1.0)}, data=("distributions",)),
    ("skce_test", {"method": "block", "kernel": SHORT}, "binary", "intervals", "one set"),
    *each("skce_test", {"method": "block", "kernel": SUM}, data=DISTRIBUTIONS),
    ("skce_test", {"method": "bound", "kernel": SHORT}, "classes", "quantiles", "one interval"),
    ("skce_test", {"method": "bootstrap", "resamples": 19}, "distributions"),
    *each("skce_test", {"method": "resample", "resamples": 3}, data=("distributions", "samples")),
    *each("cme_test", {"locations": 3, "resamples": 19}, data=("binary", "classes", "distributions")),
    *each("cme_test", {**CHOSEN, "resamples": 19}, data=("binary",)),
]
# Data that a verb refuses whatever its options are, and a word of the message.
REFUSED = {
    ("coverage_gap", "sets without level"): "have no level",
    **{(name, "sets without level"): "do not have" for name in OF_COUNTS},
    **{(name, "sets without level"): "level of the sets" for name in SEARCHES},
    ("skce", "sets without level"): "without a level",
    ("skce_test", "sets without level"): "without a level",
    **{
        (name, data): "one level at a time"
        for name in ("christoffersen_test", "kupiec_test")
        for data in SEVERAL_LEVELS
    },
    **{("multinomial_coverage_test", data): "equal the quantile" for data in ("quantiles", "one quantile")},
    **{("multinomial_coverage_test", data): "lie on a bound" for data in ("intervals", "one interval")},
    **{("coverage_hsic_test", data): "one level at a time" for data in SEVERAL_LEVELS[:2]},
    ("decompose", "vectors"): "one coordinate",
    ("pit_histogram", "vectors"): "one coordinate",
    ("weighted_interval_score", "one quantile"): "needs its mirror",
}
CERTAIN = "certain and right is perfect"
CHUNKS = "chunks add up to the whole"
COPIES = "weight two is a row twice"
EDGES = "scores on bin edges stay in their bin"
ORDER = "row order does not matter"
ZERO = "weight zero is an absent row"
RANGE = "numbers stay in the declared range"

COPIES_ARE_NO_PAIR = "a pair estimator does not count two copies of a row as a pair"
CUTS_COUNT_ROWS = "where sets are cut depends on how many rows they hold"
DRAWN_LOCATIONS = "locations are drawn from the rows at hand: other rows, or rounding, make other locations"
TOO_FEW_ROWS = "more rows are needed than the certain ones"
ALWAYS_COVERED = "what always covers is not calibrated at a level below 1"
BLOCKS = "blocks are rows that follow each other; how chunks of them add up is in tests/summaries/test_blocks.py"
IN_ORDER = "it tests how rows follow each other"
LEAVES_A_GAP = "rows that follow each other would not, and it is refused"
ONE_LABEL = "a certain set has one label"
BY_CHANCE = "chance decides between the ends of a jump, row by row"
RANDOM_RANKS = "what is certain has a rank that is drawn at random, and the statistic may be a p-value"
SHARE_OF_GOOD = "a share that is 1 if all is well"

# Properties that a verb lacks for a reason, by the verb, the circumstance, and the property. A circumstance is an
# option, an option and its value, or a kind of prediction; or one of the former "of" the latter.
EXEMPT = {
    ("ece", "debias", COPIES): COPIES_ARE_NO_PAIR,
    ("ece", "bins=cube-root", COPIES): "the cube root of n counts rows",
    ("ece", "bins=MedianVariance(minsize=5, maxbins=None)", COPIES): CUTS_COUNT_ROWS,
    ("ece", "bins=MedianVariance(minsize=2, maxbins=7) of classes", COPIES): CUTS_COUNT_ROWS,
    ("ece", "bins=MedianVariance(minsize=2, maxbins=7)", EDGES): "which of two equal sets is cut last is rounding",
    ("ece", "debias", RANGE): "unbiased for a square that may be 0, so that it may be negative",
    ("log_score", "clip", CERTAIN): "a clipped probability is no longer certain",
    ("mmce", "balanced of classes", CERTAIN): "certain and right rows have no wrong ones to be weighed against",
    ("sharpness", "statistic=log_det", CERTAIN): "what is certain has a singular covariance",
    ("width", "statistic=mean of sets", CERTAIN): ONE_LABEL,
    ("width", "statistic=median of sets", CERTAIN): ONE_LABEL,
    ("width", "statistic=finite_mean of sets", CERTAIN): ONE_LABEL,
    ("width", "statistic=finite_fraction", CERTAIN): SHARE_OF_GOOD,
    ("width", "statistic=singleton_fraction", CERTAIN): SHARE_OF_GOOD,
    ("weighted_interval_score", "median", CERTAIN): "the medians are drawn, and not the outcomes",
    ("size_stratified_coverage", "summary=violation", CERTAIN): ALWAYS_COVERED,
    ("coverage_gap", "always", CERTAIN): ALWAYS_COVERED,
    ("coverage_width_criterion", "variant=jensen", CERTAIN): "its best value depends on the level",
    ("coverage_test", "always", CERTAIN): "the statistic is the number of hits, or the smallest p-value",
    ("kupiec_test", "always", CERTAIN): ALWAYS_COVERED,
    ("multinomial_coverage_test", "always", CERTAIN): ALWAYS_COVERED,
    ("christoffersen_test", "method=conditional", CERTAIN): ALWAYS_COVERED,
    ("christoffersen_test", "always", ORDER): IN_ORDER,
    ("christoffersen_test", "always", ZERO): LEAVES_A_GAP,
    ("skce", "intervals", CERTAIN): ALWAYS_COVERED,
    ("skce", "sets", CERTAIN): ALWAYS_COVERED,
    ("skce", "quantiles", CERTAIN): ALWAYS_COVERED,
    ("skce", "blocksize", ORDER): BLOCKS,
    ("skce", "blocksize=7", CHUNKS): BLOCKS,
    ("skce_test", "intervals", CERTAIN): ALWAYS_COVERED,
    ("skce_test", "sets", CERTAIN): ALWAYS_COVERED,
    ("skce_test", "quantiles", CERTAIN): ALWAYS_COVERED,
    ("skce_test", "method=block", CERTAIN): TOO_FEW_ROWS,
    ("skce_test", "method=block", ORDER): BLOCKS,
    ("skce_test", "method=block", CHUNKS): BLOCKS,
    ("cme_test", "locations=10", CERTAIN): TOO_FEW_ROWS,
    ("conditional_map", "binary", EDGES): "its cells are those of covariates",
    ("draw_dependence", "always", CERTAIN): "draws that are all equal have no order",
    **{(verb, "always", CERTAIN): RANDOM_RANKS for verb in (*RANK_TESTS, "rank_exchange_test", "conditional_test")},
    ("rank_exchange_test", "always", CHUNKS): "chunks that are exchanged with the same random numbers are refused",
    ("skill", "always", CERTAIN): TOO_FEW_ROWS,
    ("skill_test", "always", CERTAIN): TOO_FEW_ROWS,
    ("ucme", "locations=10", CERTAIN): TOO_FEW_ROWS,
    ("ucme", "locations=10", COPIES): DRAWN_LOCATIONS,
    ("ucme", "locations=10", CHUNKS): DRAWN_LOCATIONS,
    ("ucme", "locations=10", EDGES): DRAWN_LOCATIONS,
    ("ucme", "locations=3", COPIES): DRAWN_LOCATIONS,
    ("ucme", "locations=3", CHUNKS): DRAWN_LOCATIONS,
}


for verb in RANKED:
    for kind in ("quantiles", "cdf"):
        EXEMPT[verb, kind, ORDER] = EXEMPT[verb, kind, CHUNKS] = BY_CHANCE


def takes_equal_weights_only(name, options, data):
    if name in SEARCHES:
        return DATA[data].kind == "samples"
    if name in (*OF_COUNTS, "coverage_hsic_test", "rank_exchange_test", *RANKED):
        return name != "rank_smooth_test"
    return options.get("method") in ("hersbach", "clopper-pearson", "bound")


def rows_needed(name, options, data):
    """Return how many rows are enough: what skce_test takes from the variance of hits needs many, pairs cost time."""
    if name == "skce_test" and data in WITHOUT_DISTRIBUTION[2:]:
        return {None: 520, "block": 260}.get(options.get("method"), 210)
    of_pairs = name in ("skce", "skce_test", "cme_test") and options.get("method") != "block"
    return 105 if of_pairs and data in ("distributions", "samples", "vectors") else 210


def names_for(name):
    return [data for kind in find(name).predictions for data in names_of(kind)]


def subjects():
    """Yield every verb with its defaults, then the variants."""
    listed = [(name, DEFAULTS.get(name, {})) for name in sorted(ENTRIES)] + VARIANTS
    for name, options, *names in listed:
        for data in names or names_for(name):
            if (name, data) not in REFUSED or names:
                yield VerbUnderTest(
                    find(name),
                    data,
                    options,
                    takes_equal_weights_only(name, options, data),
                    rows_needed(name, options, data),
                )


SUBJECTS = list(subjects())


def circumstances(subject):
    """Return what an exemption may name: nothing, the kind of prediction, and the options of a kind."""
    options = {word for name, value in subject.options.items() for word in (name, f"{name}={value}")}
    kind = DATA[subject.data].kind
    return {"always", kind, *options, *(f"{option} of {kind}" for option in options)}


def exemptions(subject):
    """Return the exemptions that apply to a subject."""
    names = [name for name, check in PROPERTIES.items() if check.applies(subject)]
    every = ((subject.entry.name, word, name) for word in circumstances(subject) for name in names)
    return [key for key in every if key in EXEMPT]


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_properties(name, for_each):
    """A verb has every property, with all options on all data; one that it is exempt from it must lack."""

    def check(subject):
        broken = {lacking.name: problem for lacking, problem in broken_properties(subject)}
        exempt = {key[-1] for key in exemptions(subject)}
        failures = [f"lacks {lacking!r}: {problem}" for lacking, problem in broken.items() if lacking not in exempt]
        failures += [f"has {given!r}, though it is exempt" for given in sorted(exempt - set(broken))]
        if failures:
            raise AssertionError("\n".join(failures))

    for_each({described(subject): subject for subject in SUBJECTS if subject.entry.name == name}, check)


def described(subject):
    options = ", ".join(f"{option}={value}" for option, value in subject.options.items())
    return f"{subject.entry.name}({options}) of {subject.data}"


def test_what_is_refused(for_each):
    def check(name, data):
        subject = VerbUnderTest(find(name), data, DEFAULTS.get(name, {}))
        case = subject.case(np.random.default_rng(0))
        with pytest.raises(CalibrantError, match=REFUSED[name, data]):
            subject.measure(case)

    for_each({f"{name} of {data}": (name, data) for name, data in REFUSED}, check)


OUTSIDE = ((95, 1.0, np.nan, "a"), " must lie strictly between 0 and 1")
WRONG = {
    "bins": ((0, -1, 2.5, True, "cube"), " must be "),
    "confidence": OUTSIDE,
    "level": OUTSIDE,
    "resamples": ((0, -1, 9.5, True, "9", 10**9), " must be "),
    "rng": ((-1, 0.5, True, "seed", None), " must be a numpy Generator or a whole number"),
}
LISTS = {("expected_coverage", "levels"), ("ecdf_difference", "points"), ("sharpness", "level")}  # take an array
IN_USE = {"coverage_curve": {"groups": "size"}}  # so that bins= counts


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_options_are_checked(name, refusal):
    """A wrong value of an option, and an array in the place of one value, are refused by name."""
    entry, data = find(name), next(data for data in names_for(name) if (name, data) not in REFUSED)

    def refused(option, value):
        options = {**DEFAULTS.get(name, {}), **IN_USE.get(name, {}), option: value}
        subject = VerbUnderTest(entry, data, options)
        return refusal(subject.measure, subject.case(np.random.default_rng(0)))

    for option, parameter in inspect.signature(entry.verb).parameters.items():
        if option in ("y", "prediction", "weights") or (name, option) in LISTS:
            continue
        assert option in refused(option, np.array([0.5, 0.9]))
        values, words = WRONG.get(option, ((), ""))
        for value in values:
            if value is not parameter.default:
                assert option + words in refused(option, value), value


def test_every_kind_of_every_verb_is_tried():
    tried = {(subject.entry.name, DATA[subject.data].kind) for subject in SUBJECTS}
    for kind in ("intervals", "quantiles"):  # refused, as outcomes lie on these bounds and quantiles
        tried.add(("multinomial_coverage_test", kind))
    assert tried == {(name, kind) for name, entry in ENTRIES.items() for kind in entry.predictions}
    assert {data.kind for data in DATA.values()} == set(KINDS)
    assert len({described(subject) for subject in SUBJECTS}) == len(SUBJECTS)


def test_every_exemption_is_used():
    assert {key for subject in SUBJECTS for key in exemptions(subject)} == set(EXEMPT)
