"""``adjudge score``: how right the answers are, where the truth is known."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli import options as o

BOUND = 1e-3  # as adjudge.score.probabilities has it; a test holds them together


def score(
    answers: Annotated[
        str,
        typer.Argument(metavar="ANSWERS", help="A saved fit, or a table of item, label and, where known, p_<label>."),
    ],
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="A table of item and label: the truth.")],
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Of two labels, the one that precision and recall speak of; the last by default."
        ),
    ] = None,
    bound: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="Log loss takes probabilities no nearer to 0 or 1 than this."),
    ] = BOUND,
    item: o.ItemColumn = None,
    label: o.LabelColumn = None,
    labels: o.Labels = None,
    ordinal: o.Ordinal = False,
) -> None:
    """Score labels, and probabilities where there are any, against gold.

    Labels in an order are also scored by how far off they are: a fit knows that there is one, of a table
    --ordinal says so.

    \b
    $ adjudge simulate liu-wang --out crowd/
    $ adjudge fit crowd/labels.csv --out fit/
    $ adjudge score fit/ crowd/gold.csv
    """
    from adjudge.cli.show import show_scores
    from adjudge.score.labels import scores

    found = scores(
        answers,
        gold,
        positive=positive,
        bound=bound,
        item=item,
        label=label,
        labels=o.label_list(labels),
        ordinal=ordinal,
    )
    show_scores(found)
