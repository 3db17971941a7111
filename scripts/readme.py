"""Read the commands and run the examples of a Markdown file, so that what it promises is what is tested.

``readme.py command NAME`` prints the fenced block of README.md below the line ``<!-- command: NAME -->``, and
``readme.py doctest FILE...`` runs the ``>>>`` examples of the fenced ``python`` blocks of each file, in one
namespace per file, and compares what they print.
"""

import argparse
import doctest
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"\s*(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w-]*)")
MARKER = re.compile(r"\s*<!-- command: (?P<name>\S+) -->\s*")
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS  # those of the docstrings, in pyproject.toml


class Block(NamedTuple):
    """A fenced block: the word on its fence, the line above, the index of its first line, and its lines."""

    language: str
    above: str
    start: int
    lines: list[str]


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a Markdown text in order."""
    lines = text.splitlines()
    numbered = iter(enumerate(lines))
    for i, line in numbered:
        if opening := FENCE.match(line):
            inside: list[str] = []
            for _, inner in numbered:
                if inner.strip().startswith(opening["fence"]):
                    break
                inside.append(inner)
            yield Block(opening["language"], lines[i - 1] if i else "", i + 1, inside)


def command(name: str, path: Path) -> str:
    """Return the one command of a file that is marked with a name."""
    found = [(MARKER.fullmatch(block.above), block) for block in blocks(path.read_text("utf-8"))]
    marked = [(marker["name"], "\n".join(block.lines)) for marker, block in found if marker]
    commands = [text for marker, text in marked if marker == name]
    if len(commands) != 1:
        sys.exit(
            f"{path}: expected one fenced block right below the line '<!-- command: {name} -->', "
            f"found {len(commands)}; marked commands: {', '.join(marker for marker, _ in marked) or 'none'}"
        )
    return commands[0]


def run_examples(path: Path) -> bool:
    """Run the examples of a file, print those that fail with their line, and tell whether all passed."""
    text = path.read_text("utf-8")
    kept = [""] * len(text.splitlines())  # blank lines for all the rest keep the line numbers right
    for block in blocks(text):
        if block.language == "python":
            kept[block.start : block.start + len(block.lines)] = block.lines
    namespace = {"__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest("\n".join(kept), namespace, path.name, str(path), 0)
    if not test.examples:
        sys.exit(f"{path}: no fenced python block with a '>>>' example in it")
    failed, attempted = doctest.DocTestRunner(optionflags=OPTIONS).run(test)
    print(f"{path}: {attempted - failed} passed, {failed} failed", flush=True)
    return failed == 0


def main() -> None:
    """Do what the command line asks; any failure is exit code 1."""
    parser = argparse.ArgumentParser(description="The commands and examples of README.md, as tests.")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("command", help="print a marked command").add_argument("name")
    actions.add_parser("doctest", help="run the examples").add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    if arguments.action == "command":
        print(command(arguments.name, Path("README.md")))
    else:
        passed = [run_examples(path) for path in arguments.files]
        sys.exit(not all(passed))


if __name__ == "__main__":
    main()
