"""Build the wheel and the source distribution, and run tests against what was installed from them.

    python scripts/versions.py [--python python3.11 python3.13] [--tests tests/core tests/inputs] [--report FILE]

Each environment is new: a Python, packages at the lowest versions that `pyproject.toml` allows or at the newest ones,
and calibrant from the wheel (in the first environment from the source distribution). Tests run in a folder that has no
source.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("cli", "plot", "sklearn")
NEEDED_BY_TESTS = ("pytest", "pytest-xdist", "hypothesis", "pandas", "jsonschema", "scoringrules", "xarray")
SHOWN = ("numpy", "scipy", "narwhals", "polars", "pandas", "pyarrow", "matplotlib")
TESTS = (
    "core",
    "inputs",
    "probabilities",
    "regions",
    "scores",
    "ranking",
    "recalibrating",
    "judging",
    "report",
    "docs",
)


class Environment(NamedTuple):
    """A Python, and whether packages have their lowest or their newest versions."""

    python: str
    lowest: bool

    def __str__(self) -> str:
        return f"{self.python}, {'lowest' if self.lowest else 'newest'} versions"


def requirements(*, lowest: bool) -> Iterator[str]:
    """Yield what calibrant and its tests need, as pip takes it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    tests = [line for line in extras["test"] if re.split(r"[\[>=<]", line)[0] in NEEDED_BY_TESTS]
    lines = [*project["dependencies"], *(line for extra in EXTRAS for line in extras[extra]), *tests]
    floors: dict[str, str] = {}
    for line in lines:
        name, _, floor = line.partition(">=")
        floors[name] = max(floors.get(name, ""), floor, key=version)
    for name, floor in floors.items():
        pinned = lowest and (name in SHOWN or name == "scikit-learn")
        yield f"{name}=={floor}" if pinned else f"{name}>={floor}"


def version(text: str) -> list[int]:
    """Return a version as numbers that compare."""
    return [int(part) for part in text.split(".") if part.isdigit()]


def built(folder: Path) -> list[Path]:
    """Return the source distribution and the wheel, which is built from it."""
    subprocess.run([sys.executable, "-m", "venv", folder / "build"], check=True)
    python = folder / "build/bin/python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "build"], check=True)
    subprocess.run([python, "-m", "build", "--outdir", folder / "dist", ROOT], check=True, stdout=subprocess.DEVNULL)
    return sorted((folder / "dist").iterdir(), key=lambda path: path.suffix == ".whl")


def tried(environment: Environment, package: Path, tests: Sequence[str], folder: Path) -> str:
    """Install a package into a new environment, run tests there, and return what they print last."""
    home, place = folder / "environment", folder / "tests_only"
    for old in (home, place):
        shutil.rmtree(old, ignore_errors=True)
    subprocess.run([environment.python, "-m", "venv", home], check=True)
    python = home / "bin/python"
    install = [python, "-m", "pip", "install", "--quiet", *requirements(lowest=environment.lowest), package]
    subprocess.run(install, check=True)
    hidden = shutil.ignore_patterns("src", ".*", "_build", "__pycache__")
    shutil.copytree(ROOT, place, ignore=hidden)
    where = subprocess.run(
        [python, "-c", "import calibrant; print(calibrant.__file__)"],
        cwd=place,
        check=True,
        capture_output=True,
        text=True,
    )
    if not Path(where.stdout.strip()).is_relative_to(home):
        sys.exit(f"calibrant was imported from {where.stdout.strip()}, and not from the environment")
    ran = subprocess.run(
        [python, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", *tests],
        cwd=place, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if ran.returncode:
        print(ran.stdout[-5000:], ran.stderr[-2000:])
    return ran.stdout.strip().splitlines()[-1].strip("= ")


def packages(folder: Path) -> str:
    """Return the versions of the packages that numbers depend on."""
    lines = subprocess.run(
        [folder / "environment/bin/python", "-m", "pip", "freeze"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return ", ".join(line.replace("==", " ") for line in lines if line.partition("==")[0] in SHOWN)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--python", nargs="+", default=["python3.11"], help="the lowest versions are tried with the first"
    )
    parser.add_argument("--tests", nargs="+", default=[f"tests/{name}" for name in TESTS])
    parser.add_argument("--report", type=Path, help="where the result is kept")
    given = parser.parse_args()
    lines = [f"Tests against the installed package, {datetime.now(UTC):%Y-%m-%d}: {' '.join(given.tests)}"]
    passed = True
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source, wheel = built(folder)
        plan = [(Environment(given.python[0], lowest=True), source)]
        plan += [(Environment(python, lowest=False), wheel) for python in given.python]
        for environment, package in plan:
            result = tried(environment, package, given.tests, folder)
            passed &= "passed" in result and "failed" not in result and "error" not in result
            lines += ["", f"{environment}, {package.name}", f"  {packages(folder)}", f"  {result}"]
            print("\n".join(lines[-3:]), flush=True)
    if given.report:
        given.report.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
