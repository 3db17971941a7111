"""Make the example predictions that ship with calibrant.

Run from the root of the repository, with nothing but NumPy installed::

    python scripts/make_examples.py           # writes src/calibrant/examples/*.npz
    python scripts/make_examples.py --check   # writes nothing, compares with the committed files

The script must reproduce the committed files: every seed is fixed, and ``--check`` exits with status 1 when
labels or segments differ at all or a probability differs by more than 1e-6. Change the script and the
files together.

Both data sets are synthetic, but the predictions are real outputs of trained networks: nothing here bends a
probability after the fact. The networks are over-confident for the usual reason, namely that they were
trained for too long on too few rows.

churn
    Customers of a subscription service, and whether each leaves within the next quarter. See
    `make_customers` for the causal story.
digits
    Drawings of the ten digits on an 8 by 8 grid, shifted, slanted, thickened and covered in noise. See
    `draw_digits`.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.int8]
AnyArrays = dict[str, NDArray[np.generic]]

EXAMPLES_FOLDER = Path(__file__).resolve().parents[1] / "src" / "calibrant" / "examples"
TOLERANCE = 1e-6

# ---------------------------------------------------------------------------------------------------------
# A small network
# ---------------------------------------------------------------------------------------------------------


@dataclass
class Network:
    """One hidden layer of tanh units and a softmax output."""

    hidden_weights: FloatArray
    hidden_bias: FloatArray
    output_weights: FloatArray
    output_bias: FloatArray

    def parameters(self) -> list[FloatArray]:
        """List the arrays that training changes in place."""
        return [self.hidden_weights, self.hidden_bias, self.output_weights, self.output_bias]

    def hidden(self, X: FloatArray) -> FloatArray:
        """Give the activations of the hidden layer."""
        activations: FloatArray = np.tanh(X @ self.hidden_weights + self.hidden_bias)
        return activations

    def predict(self, X: FloatArray) -> FloatArray:
        """Give the class probabilities, one row per row of `X`."""
        return softmax(self.hidden(X) @ self.output_weights + self.output_bias)


def softmax(logits: FloatArray) -> FloatArray:
    """Turn rows of logits into rows of probabilities."""
    # The largest logit is taken off first so that no exponential overflows.
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return shares


def sigmoid(x: FloatArray) -> FloatArray:
    """Map a log-odds to a probability."""
    probability: FloatArray = 1.0 / (1.0 + np.exp(-x))
    return probability


def new_network(inputs: int, hidden: int, classes: int, random: np.random.Generator) -> Network:
    """Draw starting weights scaled so that each layer keeps the variance of its input."""
    return Network(
        hidden_weights=random.normal(0.0, inputs**-0.5, (inputs, hidden)),
        hidden_bias=np.zeros(hidden),
        output_weights=random.normal(0.0, hidden**-0.5, (hidden, classes)),
        output_bias=np.zeros(classes),
    )


def cross_entropy_gradients(network: Network, X: FloatArray, targets: FloatArray) -> list[FloatArray]:
    """Differentiate the mean cross-entropy, in the order of `Network.parameters`."""
    hidden = network.hidden(X)
    probabilities = softmax(hidden @ network.output_weights + network.output_bias)
    output_error = (probabilities - targets) / len(X)
    hidden_error = (output_error @ network.output_weights.T) * (1.0 - hidden**2)
    return [X.T @ hidden_error, hidden_error.sum(axis=0), hidden.T @ output_error, output_error.sum(axis=0)]


def train(network: Network, X: FloatArray, y: LabelArray, steps: int, decay: float) -> None:
    """Fit the network in place with Adam, the whole training set at each step.

    Three choices keep rounding errors from growing, so that another linear-algebra library lands on the
    same predictions: smooth tanh units, no random batches, and a learning rate that falls to zero. With a
    constant rate a difference of 1e-15 in the starting weights grew to 8e-5 in a churn probability.
    """
    targets = np.eye(len(network.output_bias))[y]
    parameters = network.parameters()
    means = [np.zeros_like(parameter) for parameter in parameters]
    squares = [np.zeros_like(parameter) for parameter in parameters]
    for step in range(1, steps + 1):
        rate = 0.01 * (1.0 - (step - 1) / steps)
        gradients = cross_entropy_gradients(network, X, targets)
        for parameter, gradient, mean, square in zip(parameters, gradients, means, squares, strict=True):
            penalised = gradient + decay * parameter
            np.add(0.9 * mean, 0.1 * penalised, out=mean)
            np.add(0.999 * square, 0.001 * penalised**2, out=square)
            unbiased_mean, unbiased_square = mean / (1.0 - 0.9**step), square / (1.0 - 0.999**step)
            np.subtract(parameter, rate * unbiased_mean / (np.sqrt(unbiased_square) + 1e-8), out=parameter)


# ---------------------------------------------------------------------------------------------------------
# churn
# ---------------------------------------------------------------------------------------------------------

PLANS = np.array(["basic", "family", "student", "business"])
STUDENT, BUSINESS = 2, 3
TRAINING_PLAN_SHARES = np.array([0.50, 0.28, 0.17, 0.05])
HELD_OUT_PLAN_SHARES = np.array([0.38, 0.25, 0.20, 0.17])
MEAN_EXTRA_PRODUCTS = np.array([0.4, 1.4, 0.2, 2.5])
CONTRACT_CHANCE = np.array([0.4, 0.6, 0.2, 0.9])
# How far chance, and all that the table does not record, moves a customer of each plan.
PLAN_NOISE = np.array([0.4, 0.3, 1.8, 0.5])


@dataclass(frozen=True)
class Account:
    """What a customer has bought: the part of the record that the plan decides."""

    age: FloatArray
    tenure: FloatArray
    products: FloatArray
    discount: FloatArray
    price: FloatArray
    contract_left: FloatArray


@dataclass(frozen=True)
class Behaviour:
    """What a customer does; `satisfaction` is the hidden cause of most of it and is never recorded."""

    satisfaction: FloatArray
    hours: FloatArray
    trend: FloatArray
    idle_days: FloatArray
    tickets: FloatArray
    late_payments: FloatArray
    rival_offer: FloatArray


@dataclass(frozen=True)
class Customers:
    """The recorded features (`X`), the plan, and whether the customer left (`y`)."""

    X: FloatArray
    plan: NDArray[np.intp]
    y: LabelArray


def draw_account(plan: NDArray[np.intp], random: np.random.Generator) -> Account:
    """Draw what each customer has bought, given the plan."""
    count, student = len(plan), plan == STUDENT
    products = (1 + random.poisson(MEAN_EXTRA_PRODUCTS[plan])).astype(np.float64)
    discount = random.beta(1.2, 4.0, count) * np.where(student, 0.6, 0.4)
    list_price = 9.0 + 6.0 * products + 12.0 * (plan == BUSINESS)
    has_contract = random.random(count) < CONTRACT_CHANCE[plan]
    return Account(
        age=random.normal(np.where(student, 22.0, 44.0), np.where(student, 2.5, 12.0)).clip(18.0, 85.0),
        tenure=random.gamma(1.6, np.where(student, 8.0, 18.0)),
        products=products,
        discount=discount,
        price=list_price * (1.0 - discount) * random.lognormal(0.0, 0.12, count),
        contract_left=(random.integers(1, 13, count) * has_contract).astype(np.float64),
    )


def draw_behaviour(plan: NDArray[np.intp], account: Account, random: np.random.Generator) -> Behaviour:
    """Draw what each customer does, given how happy the customer is."""
    count = len(plan)
    # A dear subscription makes a customer a little less happy.
    satisfaction = random.normal(0.0, 1.0, count) - 0.015 * (account.price - 20.0)
    return Behaviour(
        satisfaction=satisfaction,
        hours=random.gamma(3.0, np.exp(1.2 + 0.25 * satisfaction)),
        trend=0.5 * satisfaction + random.normal(0.0, 1.0, count),
        idle_days=random.exponential(np.exp(1.4 - 0.45 * satisfaction)),
        tickets=random.poisson(np.exp(-0.2 - 0.5 * satisfaction)).astype(np.float64),
        late_payments=random.poisson(np.where(plan == STUDENT, 0.8, 0.35)).astype(np.float64),
        rival_offer=random.normal(0.0, 1.0, count),
    )


def leaving_log_odds(plan: NDArray[np.intp], account: Account, behaviour: Behaviour) -> FloatArray:
    """Give the log-odds that each customer leaves, before chance has its say."""
    new_customer = np.exp(-account.tenure / 10.0)
    tempted = np.maximum(behaviour.rival_offer, 0.0) * (account.price > 22.0)
    by_use = (
        -1.2 * behaviour.satisfaction
        + 1.6 * behaviour.tickets * new_customer
        - 1.3 * behaviour.trend * np.tanh(behaviour.hours / 10.0)
        + 0.7 * np.log1p(behaviour.idle_days)
        - 0.13 * account.contract_left
    )
    by_contract = 3.0 * (account.contract_left <= 2.0) + 1.5 * behaviour.rival_offer - 0.2
    log_odds: FloatArray = (
        np.where(plan == BUSINESS, by_contract, by_use)
        + 1.5 * tempted
        + 0.8 * np.minimum(behaviour.late_payments, 3.0)
        - 0.4 * np.log1p(account.tenure)
        - 1.7
    )
    return log_odds


def recorded_features(plan: NDArray[np.intp], account: Account, behaviour: Behaviour) -> FloatArray:
    """Lay out the twelve recorded columns and the plan indicators; long tails go on a log scale."""
    columns = [
        account.age,
        np.log1p(account.tenure),
        account.products,
        account.discount,
        account.price,
        account.contract_left,
        np.log1p(behaviour.hours),
        behaviour.trend,
        np.log1p(behaviour.idle_days),
        behaviour.tickets,
        behaviour.late_payments,
        behaviour.rival_offer,
    ]
    return np.column_stack([*columns, np.eye(len(PLANS))[plan]])


def make_customers(count: int, plan_shares: FloatArray, random: np.random.Generator) -> Customers:
    """Make customers of a subscription service, some of whom leave within the quarter.

    The causal story, in order:

    1. The plan decides how many products a customer has, what they cost and whether a contract is running.
    2. Unhappy customers use the service less, log in less often and open more support tickets. How happy a
       customer is does not appear in the table.
    3. A customer leaves when unhappy, after late payments, or when a rival makes a good offer to one who
       pays a high price. Support tickets drive away new customers above all, and a falling use tells most
       about those who used the service much: these are interactions. A running contract and a long tenure
       hold a customer back. Age and the discount themselves have no effect.
    4. Students also graduate, move house and share log-ins, none of which the table records, so their
       outcome is the noisiest. Business customers leave when the contract is up, whatever their use.
    """
    plan = random.choice(len(PLANS), size=count, p=plan_shares)
    account = draw_account(plan, random)
    behaviour = draw_behaviour(plan, account, random)
    chance = PLAN_NOISE[plan] * random.normal(0.0, 1.0, count)
    probability = sigmoid(leaving_log_odds(plan, account, behaviour) + chance)
    left = (random.random(count) < probability).astype(np.int8)
    return Customers(recorded_features(plan, account, behaviour), plan, left)


def make_churn() -> AnyArrays:
    """Train the churn network on a small early sample and predict customers it has not seen.

    The training sample holds few business customers, as an early pilot would, so the network has learnt
    least about them.
    """
    random = np.random.default_rng(20240611)
    training = make_customers(2500, TRAINING_PLAN_SHARES, random)
    held_out = make_customers(4000, HELD_OUT_PLAN_SHARES, random)
    centre, spread = training.X.mean(axis=0), training.X.std(axis=0)
    network = new_network(training.X.shape[1], 16, 2, random)
    train(network, (training.X - centre) / spread, training.y, steps=700, decay=0.001)
    probabilities = network.predict((held_out.X - centre) / spread)
    # Eight decimals lose nothing that a user could measure.
    return {"y": held_out.y, "p": probabilities[:, 1].round(8), "segment": PLANS[held_out.plan]}


# ---------------------------------------------------------------------------------------------------------
# digits
# ---------------------------------------------------------------------------------------------------------

GRID = 8


def arc(centre: tuple[float, float], radii: tuple[float, float], start: float, stop: float) -> FloatArray:
    """Give points along part of an ellipse; angles are in degrees, from the right, downwards."""
    angles = np.radians(np.linspace(start, stop, 9))
    points: FloatArray = np.array(centre) + np.array(radii) * np.column_stack([np.cos(angles), np.sin(angles)])
    return points


def line(*points: tuple[float, float]) -> FloatArray:
    """Give the corners of a broken line."""
    return np.array(points)


# The pen strokes of each digit. x runs right and y runs down, both from -1 to 1.
STROKES: list[list[FloatArray]] = [
    [arc((0.0, 0.0), (0.55, 0.85), 0, 360)],
    [line((-0.35, -0.5), (0.05, -0.85), (0.05, 0.85))],
    [arc((0.0, -0.4), (0.5, 0.45), 180, 390), line((0.43, -0.18), (-0.5, 0.85), (0.55, 0.85))],
    [arc((-0.05, -0.42), (0.5, 0.43), 200, 450), arc((-0.05, 0.43), (0.55, 0.43), 270, 520)],
    [line((0.25, 0.85), (0.25, -0.85), (-0.55, 0.3), (0.6, 0.3))],
    [line((0.5, -0.85), (-0.4, -0.85), (-0.45, -0.1)), arc((-0.05, 0.35), (0.55, 0.5), 225, 510)],
    [line((0.35, -0.85), (-0.3, -0.2), (-0.52, 0.35)), arc((0.0, 0.38), (0.52, 0.47), 0, 360)],
    [line((-0.5, -0.85), (0.5, -0.85), (-0.1, 0.85))],
    [arc((0.0, -0.43), (0.43, 0.42), 0, 360), arc((0.0, 0.43), (0.52, 0.42), 0, 360)],
    [arc((0.0, -0.38), (0.52, 0.47), 0, 360), line((0.52, -0.35), (0.3, 0.85))],
]


def squared_distance(points: FloatArray, start: FloatArray, stop: FloatArray) -> FloatArray:
    """Measure from each point to the nearest place on one straight piece of a stroke."""
    along = stop - start
    position = ((points - start) @ along / (along @ along)).clip(0.0, 1.0)
    gap = points - start - position[..., np.newaxis] * along
    distance: FloatArray = (gap**2).sum(axis=-1)
    return distance


def pen_positions(count: int, random: np.random.Generator) -> FloatArray:
    """Place the pixels of `count` pictures in the frame of the glyph, of shape (count, 64, 2).

    Moving the pixels one way moves the drawing the other way, so each picture gets its own shift, rotation,
    slant and size.
    """
    axis = (np.arange(GRID) - (GRID - 1) / 2) / (GRID / 2)
    pixels = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    angle = random.normal(0.0, 0.16, count)
    slant = random.normal(0.0, 0.18, count)
    size = random.uniform(0.75, 1.15, (count, 2))
    cosine, sine = np.cos(angle), np.sin(angle)
    turn = np.stack([np.stack([cosine, sine + slant], -1), np.stack([-sine, cosine], -1)], axis=-2)
    shift = random.normal(0.0, 0.13, (count, 1, 2))
    positions: FloatArray = ((pixels - shift) @ turn.transpose(0, 2, 1)) / size[:, np.newaxis, :]
    return positions


def draw_digits(labels: LabelArray, random: np.random.Generator) -> FloatArray:
    """Draw one 8 by 8 picture of each label, flattened to 64 intensities.

    Ink falls off smoothly from the stroke, the stroke width and the strength of the ink vary from picture to
    picture, and each pixel gets noise of its own. Some writers press so lightly that the noise wins.
    """
    count = len(labels)
    positions = pen_positions(count, random)
    width = random.uniform(0.13, 0.28, (count, 1))
    strength = random.uniform(0.45, 1.1, (count, 1))
    noise = random.normal(0.0, 0.11, (count, GRID * GRID))
    distance = np.full((count, GRID * GRID), np.inf)
    for digit, strokes in enumerate(STROKES):
        rows = labels == digit
        for stroke in strokes:
            for start, stop in pairwise(stroke):
                distance[rows] = np.minimum(distance[rows], squared_distance(positions[rows], start, stop))
    pictures: FloatArray = strength * np.exp(-distance / (2.0 * width**2)) + noise
    return pictures


def make_digits() -> AnyArrays:
    """Train the digit network on a thousand pictures and predict three thousand others."""
    random = np.random.default_rng(8128)
    training_labels = random.integers(0, 10, 1000).astype(np.int8)
    held_out_labels = random.integers(0, 10, 3000).astype(np.int8)
    training = draw_digits(training_labels, random)
    held_out = draw_digits(held_out_labels, random)
    network = new_network(GRID * GRID, 32, 10, random)
    train(network, training - 0.3, training_labels, steps=600, decay=0.0002)
    # Single precision halves the file and keeps small probabilities above zero, which rounding to a fixed
    # number of decimals would not; calibrant.examples makes the rows sum to one again on load.
    return {"y": held_out_labels, "P": network.predict(held_out - 0.3).astype(np.float32)}


# ---------------------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------------------


def agree(fresh: NDArray[np.generic], committed: NDArray[np.generic]) -> bool:
    """Tell whether a committed array is the one this script makes."""
    if fresh.shape != committed.shape or fresh.dtype != committed.dtype:
        return False
    if np.issubdtype(fresh.dtype, np.floating):
        return bool(np.allclose(fresh, committed, rtol=0.0, atol=TOLERANCE))
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
    examples = {"churn": make_churn(), "digits": make_digits()}
    if not check_only:
        for name, arrays in examples.items():
            write(name, arrays)
        return 0
    problems = [problem for name, arrays in examples.items() for problem in differences(name, arrays)]
    print("\n".join(problems) or "The committed files are reproduced.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
