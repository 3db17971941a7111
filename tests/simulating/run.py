"""A run in a process of its own, which tests kill or interrupt: run.py FOLDER SAMPLER WORKERS N."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import models

import calibrant as cb
from calibrant.simulating import simulate_calibration as module

if __name__ == "__main__":
    folder, sampler, workers, n = sys.argv[1], getattr(models, sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    module.FITS_PER_PART = 7
    try:
        cb.simulate_calibration(
            models.array_prior, models.array_simulator, sampler, n=n, draws=9, workers=workers, rng=3, checkpoint=folder
        )
    except KeyboardInterrupt as stopped:
        print(stopped, stopped.calibration)
