"""From outcomes and predictions to checked rows: what each verb takes, and the words for what it refuses."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.core import dispatch
from calibrant.core.catalogue import entries
from calibrant.core.means import SEVERAL, column_names, folded, moments_of
from calibrant.core.moments import Moments
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.kinds import JUDGES, KINDS, kind_of, kinds_words, read, read_alone
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.rows import DistributionRows, IntervalRows, QuantileRows, SetRows
from calibrant.ranking.quantities import ranks
from calibrant.ranking.summary import Ranks

Y = [0.0, 1.0, 2.0]
NORMAL = cb.Normal(Y, 1.0)
INTERVALS = cb.Intervals([-1.0, 0.0, 1.0], [1.0, 2.0, 3.0], 0.9)
QUANTILES = cb.Quantiles([[0.0, 1.0]] * 3, [0.1, 0.9])
SETS = cb.Sets(np.eye(3, dtype=bool), 0.9)
SAMPLES = cb.Samples(np.zeros((3, 4)))
CDF = cb.CdfValues([0.1, 0.5, 0.9])
ALL = tuple(KINDS)


@pytest.mark.parametrize(
    ("prediction", "kind"),
    [
        (INTERVALS, "intervals"),
        (SETS, "sets"),
        (QUANTILES, "quantiles"),
        (CDF, "cdf"),
        (SAMPLES, "samples"),
        (NORMAL, "distributions"),
        (cb.Laplace(Y, 1.0), "distributions"),
        ([0.1, 0.5], None),
        (np.eye(2), None),
        ("0.5", None),
    ],
)
def test_kinds(prediction, kind):
    assert kind_of(prediction) == kind


class TestRows:
    @pytest.mark.parametrize(
        ("y", "prediction", "kind"),
        [
            ([0, 1, 1], [0.1, 0.5, 0.9], Binary),
            ([0, 1, 2], np.eye(3), Classes),
            (Y, NORMAL, DistributionRows),
            (Y, SAMPLES, DistributionRows),
            (Y, INTERVALS, IntervalRows),
            (Y, QUANTILES, QuantileRows),
            ([0, 1, 2], SETS, SetRows),
        ],
    )
    def test_each_kind_has_its_rows(self, y, prediction, kind):
        rows = read("verb", ALL, y, prediction, weights=[1, 2, 0])
        assert type(rows) is kind
        assert rows.n == 2  # the row without weight is gone
        assert rows.w.tolist() == [1.0, 2.0]
        part = rows.part(slice(1, 2))
        assert type(part) is kind
        assert part.n == 1
        np.testing.assert_array_equal(part.y, rows.y[1:2])
        assert part.w.tolist() == [2.0]

    def test_parts_of_single_precision_are_judged_in_double(self):
        rows = read("verb", ALL, [0, 1], np.array([0.25, 0.5], "float32"))
        assert rows.p.dtype == np.float32
        assert rows.part(slice(0, 1)).p.dtype == np.float64

    def test_labels_of_sets(self):
        assert read("verb", ALL, ["a", "c", "b"], SETS, classes=["a", "b", "c"]).y.tolist() == [0, 2, 1]


class TestRefusals:
    @pytest.mark.parametrize("verb", [cb.coverage, cb.crps, cb.width])
    def test_a_plain_array(self, verb, refusal):
        for plain in ([0.1, 0.5, 0.9], np.eye(3)):
            data = (plain,) if verb is cb.width else (Y, plain)
            message = refusal(verb, *data)
            assert verb.__name__ in message
            assert type(plain).__name__ in message
        assert "Intervals" in refusal(cb.coverage, Y, [0.1, 0.5, 0.9])

    def test_a_plain_array_is_only_ever_probabilities(self, refusal):
        message = refusal(read, "verb", ("intervals", "distributions"), Y, [0.1, 0.5, 0.9])
        start = "verb judges Intervals or a distribution such as Normal; got [0.1, 0.5, 0.9] (list). "
        assert message.startswith(start)
        assert message.endswith("A plain array is always taken as probabilities")

    @pytest.mark.parametrize("verb", [cb.ece, cb.brier_score, cb.kuiper_test])
    @pytest.mark.parametrize("prediction", [INTERVALS, SETS, QUANTILES, SAMPLES, NORMAL, CDF], ids=kind_of)
    def test_what_holds_no_probabilities(self, verb, prediction, refusal):
        message = refusal(verb, Y, prediction)
        assert message.startswith(f"{verb.__name__} judges one probability per row (a 1-D array)")
        assert f"; got {type(prediction).__name__}" in message

    def test_what_to_do_instead_is_said(self, refusal):
        advice = {"distributions": "Draw from it"}
        for prediction, words in ((NORMAL, "Normal. Draw from it"), (QUANTILES, f"Quantiles. {JUDGES['quantiles']}")):
            message = refusal(read, "verb", ("samples",), Y, prediction, instead=advice)
            assert message == f"verb judges Samples; got {words}"

    @pytest.mark.parametrize("prediction", [INTERVALS, QUANTILES, NORMAL, SAMPLES], ids=kind_of)
    def test_labels_of_what_has_none(self, prediction, refusal):
        name = type(prediction).__name__
        for option in ("classes", "pos_label"):
            message = refusal(cb.skce, Y, prediction, **{option: [0, 1]})
            assert message == f"{option}= is for labels of probabilities; leave it out for {name}"

    def test_a_positive_label_of_sets(self, refusal):
        assert "pos_label= is for labels of probabilities" in refusal(cb.skce, [0, 1, 2], SETS, pos_label=1)


class TestAlone:
    def test_rows_without_outcomes(self):
        rows = read_alone("width", ("intervals",), INTERVALS, weights=[1, 0, 2])
        assert rows.n == 2
        assert rows.y.shape == (2, 0)

    @pytest.mark.parametrize("plain", [[0.1, 0.5], None, "x"], ids=repr)
    def test_what_is_no_prediction(self, plain, refusal):
        message = refusal(read_alone, "width", ("intervals", "sets"), plain, weights=None)
        assert message.startswith("width takes Intervals or Sets alone; got ")
        assert message.endswith(f"({type(plain).__name__})")

    def test_advice(self, refusal):
        advice = {"distributions": "Call .interval(level) on it"}
        message = refusal(read_alone, "width", ("intervals",), NORMAL, weights=None, instead=advice)
        assert message.endswith("(Normal). Call .interval(level) on it")
        message = refusal(read_alone, "width", ("intervals",), QUANTILES, weights=None, instead=advice)
        assert message.endswith("(Quantiles). Call .intervals() on it, which pairs levels such as 0.1 and 0.9")

    def test_verbs_of_predictions_alone_take_no_outcomes(self):
        alone = [entry for entry in entries().values() if not entry.outcome]
        assert "width" in {entry.name for entry in alone}
        for entry in alone:
            with pytest.raises(TypeError):
                entry.verb(Y, INTERVALS)


@pytest.mark.parametrize(
    ("accepted", "words"),
    [
        ("sets", "Sets"),
        ("sets intervals", "Intervals or Sets"),
        ("distributions binary sets", "one probability per row (a 1-D array), Sets or a distribution such as Normal"),
    ],
)
def test_listed_in_the_order_of_the_kinds(accepted, words):
    assert kinds_words(tuple(accepted.split())) == words


def test_every_kind_is_one_of_the_kinds():
    assert {kind for entry in entries().values() for kind in entry.predictions} <= set(KINDS)


def test_labels_are_listed_where_an_option_is_unknown(refusal):
    assert refusal(cb.coverage, Y, INTERVALS, bin=3).endswith("weights, classes")
    assert "pos_label" not in refusal(cb.crps, Y, NORMAL, sample_weight=[1, 1, 1])


n = 6
Y_MEANS = np.arange(6.0)
VECTORS = cb.MvNormal(np.zeros((n, 2)), np.eye(2))
LOWER, UPPER = Y_MEANS[:, None] - [2.0, 1.0], Y_MEANS[:, None] + [0.5, 3.0]


def rows_of(y, prediction, **options):
    return read("verb", tuple(KINDS), y, prediction, **options)


class TestColumnNames:
    @pytest.mark.parametrize(
        ("y", "prediction", "L", "names"),
        [
            ([0, 1], [0.1, 0.9], None, [""]),
            ([0, 1], np.eye(3)[:2], None, ["[3 classes]"]),
            (Y_MEANS, cb.Normal(Y_MEANS, 1.0), None, ["[distribution]"]),
            (np.zeros((n, 2)), VECTORS, 2, ["[several coordinate 0]", "[several coordinate 1]"]),
            (Y_MEANS, cb.Intervals(LOWER[:, 0], UPPER[:, 0], 0.9), 1, ["[Intervals 0.9]"]),
            (Y_MEANS, cb.Intervals(LOWER[:, :1], UPPER[:, :1], [0.9]), 1, ["[several Intervals 0.9]"]),
            (
                Y_MEANS,
                cb.Intervals(LOWER, UPPER, [0.9, 0.5]),
                2,
                ["[several Intervals 0.9]", "[several Intervals 0.5]"],
            ),
            (Y_MEANS, cb.Intervals(LOWER, UPPER, [0.9, 0.5]), None, ["[Intervals 0.9, 0.5]"]),
            (Y_MEANS, cb.Quantiles(Y_MEANS, 0.5), 1, ["[Quantiles 0.5]"]),
            ([0, 1, 2], cb.Sets(np.eye(3, dtype=bool), 0.9), 1, ["[Sets K=3 0.9]"]),
            ([0, 1, 2], cb.Sets(np.eye(3, dtype=bool)), 1, ["[Sets K=3 column 0]"]),
        ],
    )
    def test_each_kind(self, y, prediction, L, names):
        assert column_names(rows_of(y, prediction), L) == names

    def test_levels_are_told_apart_to_ten_digits(self):
        predictions = (cb.Quantiles(Y_MEANS, level) for level in (1 / 3, 1 / 3 + 1e-9))
        first, second = (column_names(rows_of(Y_MEANS, prediction), 1) for prediction in predictions)
        assert first != second
        assert first == ["[Quantiles 0.3333333333]"]


class TestSingleAndSeveral:
    one = cb.Intervals(LOWER[:, 0], UPPER[:, 0], 0.9)
    listed = cb.Intervals(LOWER[:, :1], UPPER[:, :1], [0.9])
    two = cb.Intervals(LOWER, UPPER, [0.9, 0.5])

    @pytest.mark.parametrize("verb", [cb.coverage, cb.interval_score])
    def test_a_number_or_an_array(self, verb):
        number, array, both = (verb(Y_MEANS, prediction) for prediction in (self.one, self.listed, self.two))
        assert isinstance(number, float)
        assert array.shape == (1,)
        assert both.shape == (2,)
        assert array[0] == both[0] == number
        assert both[1] == verb(Y_MEANS, self.two.at(0.5))

    @pytest.mark.parametrize("prediction", [one, listed, two])
    def test_summaries_say_which(self, prediction):
        summary = cb.summarize(cb.coverage, Y_MEANS, prediction)
        assert all((SEVERAL in name) == (prediction is not self.one) for name in summary.names)
        assert np.shape(cb.coverage(summary)) == np.shape(cb.coverage(Y_MEANS, prediction))

    def test_names_of_columns(self):
        of_levels = ("coverage[several Intervals 0.9]", "coverage[several Intervals 0.5]")
        assert cb.summarize(cb.coverage, Y_MEANS, self.two).names == of_levels
        assert cb.summarize(cb.brier_score, [0, 1], [0.1, 0.9]).names == ("brier_score",)
        assert cb.summarize(cb.log_score, [0, 1], np.eye(3)[:2]).names == ("log_score[3 classes]",)

    @pytest.mark.parametrize(
        ("verb", "first", "second"),
        [
            (cb.coverage, (Y_MEANS, one), (Y_MEANS, listed)),
            (cb.coverage, (Y_MEANS, one), (Y_MEANS, cb.Intervals(LOWER[:, 0], UPPER[:, 0], 0.8))),
            (cb.coverage, (Y_MEANS, one), ([0, 1, 2], SETS)),
            (cb.coverage, ([0, 1, 2], SETS), ([0, 1, 2, 3], cb.Sets(np.eye(4, dtype=bool), 0.9))),
            (cb.brier_score, ([0, 1], [0.1, 0.9]), ([0, 1], np.eye(3)[:2])),
        ],
    )
    def test_scores_of_different_kinds_do_not_merge(self, verb, first, second, refusal):
        message = refusal(lambda: cb.summarize(verb, *first) + cb.summarize(verb, *second), error=SummaryError)
        assert verb.__name__ in message


def test_chunks_add_up(monkeypatch):
    rows = rows_of(Y_MEANS, TestSingleAndSeveral.one, weights=[1, 2, 3, 1, 2, 3])
    sizes = []

    def score(piece):
        sizes.append(piece.n)
        return {"y": piece.y}

    whole = moments_of(rows, score)
    assert sizes == [6]
    monkeypatch.setattr(dispatch, "CHUNK_ROWS", 4)
    found = folded(rows, lambda piece: Moments.of(score(piece), piece.w), Moments.zero()).mean_of("y")
    assert found == pytest.approx(whole.mean_of("y"))
    assert whole.mean_of("y") == pytest.approx(np.average(Y_MEANS, weights=[1, 2, 3, 1, 2, 3]))


@pytest.mark.parametrize(
    ("prediction", "advice"),
    [
        ((np.zeros(4), np.ones(4)), r"Pass a pair of bounds as Intervals\(lower, upper, level\)"),
        (np.column_stack([np.zeros(4), np.ones(4)]), r"Intervals\(\*numpy.transpose\(bounds\), level\)"),
    ],
    ids=["pair", "columns"],
)
def test_bounds_without_a_level_are_pointed_to_intervals(prediction, advice):
    with pytest.raises(InputError, match=advice):
        cb.coverage(np.full(4, 0.5), prediction)


def test_groups_of_arviz_have_a_reader(refusal):
    xarray = pytest.importorskip("xarray")
    drawn = xarray.Dataset({"y": (("chain", "draw", "obs"), np.zeros((2, 3, 4)))})
    for data in (drawn, xarray.DataTree.from_dict({"posterior_predictive": drawn})):
        assert "from_arviz" in refusal(cb.audit, np.zeros(4), data)


def test_the_summary_of_ranks():
    assert type(cb.summarize(ranks, [0.5], cb.Samples([[1.0]]))) is Ranks


@pytest.mark.parametrize("verb", ["rank", "ECE", 3, None, len, [], lambda y: y])
def test_unknown_verbs(verb, refusal):
    message = refusal(cb.summarize, verb, [0, 1], [0.2, 0.7])
    assert message.startswith("expected a verb of calibrant or its name")
    for known in ("coverage", "ece", "ranks"):
        assert (f" {known}," in message) == isinstance(verb, str)
    assert isinstance(verb, str) or "The verb comes first, as in interval(ece, y, p)" in message
