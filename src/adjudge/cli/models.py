"""``adjudge models``: the list of models."""

from __future__ import annotations


def models() -> None:
    """List the models, with what each assumes and its paper.

    \b
    $ adjudge models
    """
    from adjudge.cli.show import console, table
    from adjudge.inference.registry import MODELS

    rows = [(model.name, model.labels.needs, model.summary, model.paper) for model in MODELS.values()]
    console().print(table("Models", ("name", "labels", "what it assumes", "paper"), rows, longest=999))
