"""The command line: the same words as the library."""


def main() -> None: ...
