"""The commands, gathered."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge import __version__
from adjudge.cli import (
    agreement,
    campaign,
    campaign_data,
    check,
    compare,
    datasets,
    draws,
    evaluate,
    features,
    fit,
    judges,
    models,
    monitor,
    predict,
    rank,
    report,
    rerank,
    score,
    search,
    serve,
    simulate,
    update,
    weights,
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
COMMANDS = (
    fit.fit,
    update.update,
    predict.predict,
    check.check,
    judges.judges,
    monitor.monitor,
    agreement.agreement,
    score.score,
    evaluate.evaluate,
    compare.compare,
    rank.rank,
    search.search,
    features.features,
    weights.weights,
    report.report,
    draws.draws,
    serve.serve,
)
LISTERS = (simulate.simulate, models.models, datasets.datasets)
for command in (*COMMANDS, *LISTERS):
    app.command(no_args_is_help=command not in LISTERS)(command)
for part in (campaign.gate, campaign_data.invite, campaign_data.backup, campaign_data.verify):
    campaign.campaign.command(no_args_is_help=True)(part)
campaign.campaign.command("export", no_args_is_help=True)(campaign_data.export_)
campaign.campaign.command("import", no_args_is_help=True)(campaign_data.import_)
campaign.campaign.command("prompts", no_args_is_help=True)(campaign_data.prompts)
app.add_typer(campaign.campaign, name="campaign")
app.add_typer(rerank.rerank, name="rerank")


def _version(asked: bool) -> None:
    """Print the version and stop."""
    if asked:
        print(f"adjudge {__version__}")
        raise typer.Exit


@app.callback()
def adjudge(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Turn many imperfect judgments into decisions one can defend.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv
    """
