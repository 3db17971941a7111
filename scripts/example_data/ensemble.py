"""Weather on a ring of places, and ensemble forecasts by a model that lacks something."""

from __future__ import annotations

import numpy as np
from example_data.network import AnyArrays, FloatArray

PLACES, FORCING = 40, 8.0
STEP, DAY = 0.05, 4  # units of time, and steps: five days are one unit, as usual for this model
SPIN_UP = 20  # days after which nobody can tell how the weather began
LEADS = {"1 day": 1, "3 days": 3, "5 days": 5, "8 days": 8}
FORECASTS, MEMBERS = 1000, 50
ANALYSIS_ERROR = 0.4  # of weather that has a standard deviation of 3.7
UNKNOWN, MEMORY = 1.0, 4.0  # standard deviation of the forcing that the model lacks, and how many days it lasts


def tendency(x: FloatArray, forcing: FloatArray | float) -> FloatArray:
    """Give dx/dt of Lorenz (1996), Predictability: a problem partly solved: (x_{k+1} - x_{k-2}) x_{k-1} - x_k + F."""
    found: FloatArray = (np.roll(x, -1, axis=-1) - np.roll(x, 2, axis=-1)) * np.roll(x, 1, axis=-1) - x + forcing
    return found


def stepped(x: FloatArray, forcing: FloatArray | float) -> FloatArray:
    """Go one step ahead by the method of Runge and Kutta."""
    a = tendency(x, forcing)
    b = tendency(x + 0.5 * STEP * a, forcing)
    c = tendency(x + 0.5 * STEP * b, forcing)
    d = tendency(x + STEP * c, forcing)
    ahead: FloatArray = x + STEP / 6.0 * (a + 2.0 * b + 2.0 * c + d)
    return ahead


def make_weather(count: int, days: int, random: np.random.Generator) -> FloatArray:
    """Make stretches of weather and keep the last `days` of each, of shape (days + 1, count, places).

    Each stretch starts anywhere and runs until it has forgotten where, so that no two have anything in common. What
    drives the weather wanders at each place for itself: its mean is known, and where it stands is not.
    """
    x = FORCING / 3.0 + 3.6 * random.normal(0.0, 1.0, (count, PLACES))
    unknown = UNKNOWN * random.normal(0.0, 1.0, x.shape)
    kept = 1.0 - 1.0 / (MEMORY * DAY)
    path = np.empty((days + 1, count, PLACES))
    for day in range(-SPIN_UP, days + 1):
        if day >= 0:
            path[day] = x
        for _ in range(DAY):
            x = stepped(x, FORCING + unknown)
            unknown = kept * unknown + UNKNOWN * np.sqrt(1.0 - kept**2) * random.normal(0.0, 1.0, x.shape)
    return path


def forecast(analysis: FloatArray, days: int, random: np.random.Generator) -> FloatArray:
    """Let members run with the mean of the forcing, and return what they say of the first place."""
    members = analysis[:, None] + ANALYSIS_ERROR * random.normal(0.0, 1.0, (len(analysis), MEMBERS, PLACES))
    for _ in range(days * DAY):
        members = stepped(members, FORCING)
    return members[:, :, 0]


def make_ensemble() -> AnyArrays:
    """Forecast the weather of one place, some days ahead, from an analysis that is a little wrong.

    Members start as far from the analysis as the weather is from it, which is right. They do not know that the forcing
    wanders, which is not: the further they look ahead, the more they lack of what may happen.

    No difference between computers can grow much: a stretch is 28 days long, in which a small difference in the weather
    becomes some ten thousand times larger.
    """
    random = np.random.default_rng(1963)
    names = np.array(list(LEADS))
    lead = names[np.arange(FORECASTS) % len(LEADS)]
    weather = make_weather(FORECASTS, max(LEADS.values()), random)
    analysis = weather[0] + ANALYSIS_ERROR * random.normal(0.0, 1.0, weather[0].shape)
    y, draws = np.empty(FORECASTS), np.empty((FORECASTS, MEMBERS))
    for name, days in LEADS.items():
        rows = lead == name
        y[rows], draws[rows] = weather[days, rows, 0], forecast(analysis[rows], days, random)
    # Single precision halves the file.
    return {
        "y": y.astype(np.float32),
        "draws": draws.astype(np.float32),
        "lead": lead,
        "start": analysis[:, 0].astype(np.float32),
    }
