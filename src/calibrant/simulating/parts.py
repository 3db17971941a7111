"""Finished fits on disk: parts that are written completely or not at all, from which a run resumes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.core import summary as codec
from calibrant.errors import InputError, SummaryError, shown
from calibrant.simulating.fits import Failure, Fit
from calibrant.writing import remove_temporary_files, replace_bytes

FORMAT = 2
NAME = "Fits"
RUN = "run.json"
MUST_AGREE = ("entropy", "draws", "names", "batch", "callables")


class Parts:
    """A folder with the description of a run and its finished fits."""

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.folder, self.about = folder, dict(about)

    def open(self) -> list[int]:
        """Begin or resume the run; return the numbers of the fits that are there, parts that cannot be read removed."""
        path = self.folder / RUN
        if path.exists():
            self._compare(path)
        replace_bytes(path, (json.dumps({"format": FORMAT, **self.about}, indent=1) + "\n").encode())
        found: list[int] = []
        for part in self._files():
            remove_temporary_files(part)
            try:
                found += [fit.index for fit in read_part(part, self.about)]
            except (OSError, ValueError, KeyError, TypeError) as problem:
                warnings.warn(f"{part} cannot be read ({problem}); its fits are made again", stacklevel=4)
                part.unlink(missing_ok=True)
        return sorted(set(found))

    def write(self, fits: Iterable[Fit]) -> None:
        ordered = sorted(fits, key=lambda fit: fit.index)
        if ordered:
            replace_bytes(self.folder / f"part-{ordered[0].index:06d}.npz", part_bytes(ordered))

    def fits(self, n: int) -> Iterator[Fit]:
        """Yield the first n fits in order."""
        places = []  # the part of each fit; parts of several workers may overlap
        for part in self._files():
            with part.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                places += [(int(index), part) for index in stored["index"]]
        known: dict[Path, dict[int, Fit]] = {}
        seen: set[int] = set()
        for index, part in sorted(places):
            if index in seen or index >= n:
                continue
            seen.add(index)
            if part not in known:
                known[part] = {fit.index: fit for fit in read_part(part, self.about)}
            yield known[part].pop(index)
            if not known[part]:
                del known[part]

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("part-*.npz") if path.stem.removeprefix("part-").isdigit())

    def _compare(self, path: Path) -> None:
        try:
            before = json.loads(path.read_text("utf-8"))
            if before["format"] != FORMAT:
                raise ValueError("it was written by another calibrant")
            different = [key for key in MUST_AGREE if before[key] != json.loads(json.dumps(self.about[key]))]
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise InputError(
                f"{path} is not the description of a run ({problem}). Delete the folder to start again, or name another"
            ) from None
        if different:
            key = different[0]
            words = f"{key} was {shown(before[key])}, and is {shown(self.about[key])} now"
            remedy = "Name another folder, or repeat that run"
            raise InputError(f"the checkpoint {self.folder} belongs to another run: {words}. {remedy}")


def part_bytes(fits: list[Fit]) -> bytes:
    """Return fits as the bytes of an .npz file without pickled objects, with a checksum."""
    done = [fit for fit in fits if fit.draws is not None]
    columns: dict[str, Any] = {
        "index": np.array([fit.index for fit in fits], np.int64),
        "ok": np.array([fit.draws is not None for fit in fits]),
        "seconds": np.array([fit.seconds for fit in fits]),
        "failures": np.frombuffer(json.dumps([astuple(fit.failure) for fit in fits if fit.failure]).encode(), np.uint8),
        "counts": np.array([0 if fit.draws is None else len(fit.draws) for fit in fits], np.int64),
        "chains": np.array([fit.chains for fit in fits], np.int64),
    }

    def each(name: str) -> list[Any]:
        return [getattr(fit, name) for fit in done]

    if done:
        columns["theta"] = np.stack(each("theta"))
        columns["draws"] = np.concatenate(each("draws"))
        if all(x is not None for x in each("x")) and len({x.shape for x in each("x")}) == 1:
            columns["x"] = np.stack(each("x"))
        if all(fit.log_density is not None for fit in done):
            columns["log_density"] = np.concatenate(each("log_density"))
        for name in ("log_density_y", "divergences"):
            if all(value is not None for value in each(name)):
                columns[name] = np.array(each(name))
    return codec.encode(NAME, columns)


def read_part(path: Path, about: Mapping[str, Any]) -> list[Fit]:
    name, columns = codec.decode(path.read_bytes())
    if name != NAME:
        raise SummaryError(f"it is a {name}")
    index, ok, counts = columns["index"], columns["ok"], columns["counts"]
    failures = [Failure(*_row(entry)) for entry in json.loads(columns["failures"].tobytes())]
    k, D = int(ok.sum()), int(about["D"])
    if not (len(index) == len(ok) == len(counts) == len(columns["seconds"])) or len(failures) != len(index) - k:
        raise ValueError("its columns do not fit together")
    if (index < 0).any() or len(np.unique(index)) != len(index) or (counts[ok] < 1).any() or counts[~ok].any():
        raise ValueError("its numbers of fits do not fit together")
    if k and (columns["theta"].shape != (k, D) or columns["draws"].shape != (counts.sum(), D)):
        raise ValueError("its draws do not fit together")
    if k and not (np.isfinite(columns["theta"]).all() and np.isfinite(columns["draws"]).all()):
        raise ValueError("its draws are not finite")
    ends, done, missing, fits = np.cumsum(counts), np.cumsum(ok) - 1, iter(failures), []

    def entry(column: str, at: Any) -> Any:
        return columns[column][at] if column in columns else None

    for i, d in enumerate(done.tolist()):
        number, seconds = int(index[i]), float(columns["seconds"][i])
        if not ok[i]:
            fits.append(Fit(number, None, None, None, seconds, failure=next(missing)))
            continue
        place = slice(int(ends[i] - counts[i]), int(ends[i]))
        own = (columns["theta"][d], columns["draws"][place], entry("x", d), seconds, int(columns["chains"][i]))
        others = (entry("log_density", place), entry("log_density_y", d), entry("divergences", d))
        fits.append(Fit(number, *own, *others))
    return fits


def _row(entry: list[Any]) -> tuple[Any, ...]:
    index, theta, exception, message, seed = entry
    return int(index), None if theta is None else tuple(theta), str(exception), str(message), (seed[0], seed[1])
