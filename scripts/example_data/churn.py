"""Customers of a subscription service, and whether each leaves within the next quarter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from example_data.network import (
    AnyArrays,
    FloatArray,
    LabelArray,
    cross_entropy,
    new_network,
    sigmoid,
    softmax,
    train,
)
from numpy.typing import NDArray

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
    train(network, (training.X - centre) / spread, cross_entropy(training.y, 2), steps=700, decay=0.001)
    probabilities = softmax(network.outputs((held_out.X - centre) / spread))
    # Eight decimals lose nothing that a user could measure.
    return {"y": held_out.y, "p": probabilities[:, 1].round(8), "segment": PLANS[held_out.plan]}
