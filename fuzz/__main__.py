"""``python -m fuzz [--cases N] [--seed S]``: run the campaign; ``--case N`` runs one case of it again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
from rich.console import Console

from fuzz.campaign import SWEEPS, Campaign
from fuzz.child_process import warm_up


@click.command()
@click.option("--cases", default=20_000, show_default=True, help="How many random cases.")
@click.option("--first", default=0, help="The number of the first, for a campaign in pieces.")
@click.option("--seed", default=0, show_default=True, help="Seed of all cases.")
@click.option("--case", "one", type=int, help="Run this one case again, and say what came of it.")
@click.option("--sweep", "sweeps", multiple=True, type=click.Choice([*SWEEPS, "none"]), help="Only this sweep.")
@click.option(
    "--findings", default="fuzz-findings", type=click.Path(path_type=Path), help="Where to keep findings."
)
def main(cases: int, first: int, seed: int, one: int | None, sweeps: tuple[str, ...], findings: Path) -> None:
    """Damage files, draw options, kill writers; see that unskew refuses in one line or is right."""
    console = Console(width=160, soft_wrap=True)
    warm_up()
    with tempfile.TemporaryDirectory(prefix="unskew-fuzz-") as scratch:
        campaign = Campaign(seed, Path(scratch).resolve(), findings, console)
        if one is not None:
            verdict = campaign.run_case(one)
            console.print(f"{verdict.group}: {verdict.outcome}\n{verdict.detail}", markup=False)
        else:
            for name in [name for name in SWEEPS if name in sweeps or not sweeps]:
                campaign.run_sweep(name)
            for number in range(first, first + cases):
                campaign.run_case(number)
                if (number + 1 - first) % 1000 == 0:
                    console.print(f"{number + 1 - first} of {cases} cases, {campaign.found} findings")
            campaign.print_counts()
    raise SystemExit(1 if campaign.found else 0)


if __name__ == "__main__":
    main()
