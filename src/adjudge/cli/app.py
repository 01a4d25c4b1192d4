"""All commands, in the sections of ``adjudge --help``."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge import __version__
from adjudge.cli import (
    agreement,
    ask,
    campaign,
    catalogue,
    check,
    compare,
    evaluate,
    features,
    fit,
    judges,
    monitor,
    multilabel,
    panel,
    plan,
    predict,
    rank,
    rate,
    read,
    report,
    rerank,
    score,
    scores,
    search,
    serve,
    simulate,
    tutor,
    update,
    weights,
)
from adjudge.cli.help import add_commands, command_group

SECTIONS = {
    "Consensus": (
        fit.fit,
        update.update,
        predict.predict,
        scores.scores,
        multilabel.multilabel,
        ask.ask,
        compare.compare,
        check.check,
        check.draws,
        catalogue.models,
    ),
    "Judges": (judges.judges, monitor.monitor, agreement.agreement, panel.panel, plan.plan, tutor.tutor),
    "Evaluation": (score.score, evaluate.evaluate, rate.rate, report.report),
    "Ranking and learning": (rank.rank, search.search, features.features, weights.weights),
    "Collection": (serve.serve,),
    "Data": (read.read, simulate.simulate, catalogue.datasets),
}
LISTS = (simulate.simulate, catalogue.models, catalogue.datasets)  # called without arguments, they list what there is

app = command_group(completion=True)
for section, commands in SECTIONS.items():
    add_commands(app, section, commands, without_arguments=LISTS)
add_commands(
    campaign.campaign,
    "Set up",
    (campaign.new, campaign.clone, campaign.check, campaign.gate, campaign.invite, campaign.reset, campaign.archive),
)
add_commands(
    campaign.campaign,
    "Data",
    (
        campaign.export_,
        campaign.import_,
        campaign.prompts,
        campaign.backup,
        campaign.restore,
        campaign.verify,
        campaign.reseal,
        campaign.history,
        campaign.webhooks,
    ),
)
app.add_typer(rerank.rerank, name="rerank", rich_help_panel="Ranking and learning")
app.add_typer(campaign.campaign, name="campaign", rich_help_panel="Collection")


def _print_version(requested: bool) -> None:
    """Print the version and stop."""
    if requested:
        print(f"adjudge {__version__}")
        raise typer.Exit


@app.callback()
def adjudge(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Turn many imperfect judgments into decisions one can defend.

    `adjudge COMMAND --help` explains a command. Most are also Python functions: `adjudge fit` is adjudge.fit.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv
    """
