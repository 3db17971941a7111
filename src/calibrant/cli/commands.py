"""All commands, each of which imports what it needs when it runs."""

from __future__ import annotations

import click

from calibrant import __version__
from calibrant.cli.demo import DEMOS


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="calibrant")
def commands() -> None:
    """Tell whether probabilistic predictions can be trusted."""


@commands.command()
@click.argument("kind", type=click.Choice(list(DEMOS)), required=False)
def demo(kind: str | None) -> None:
    """Measure the example predictions that come with calibrant.

    KIND is churn (will a customer leave? one probability per row) or digits (which digit is it? ten probabilities per
    row); both are shown when it is left out.
    """
    from calibrant.cli.demo import show

    for name in [kind] if kind else DEMOS:
        show(name)
