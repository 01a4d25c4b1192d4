"""Which model to take, from the judgments alone: the one that foretells held judgments best, or the plainest as good.

The difference between models is often less than chance would make it. So of all models within one standard error of
the best (the rule of Breiman, Friedman, Olshen & Stone 1984) the plainest is taken: votes first, then models by how
many numbers they have for a judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from adjudge.errors import UsageError, quote
from adjudge.judgments.read import read
from adjudge.judgments.scale import Scale
from adjudge.models.fit import fit
from adjudge.models.holdout import FOLDS, HeldOut, held_out
from adjudge.models.options import Options
from adjudge.models.record import Fit
from adjudge.models.registry import model_named

CANDIDATES = (  # the plainest first
    "majority",
    "wawa",
    "zbs",
    "vote-weight",
    "vote-weight-biased",
    "ordinal",
    "single-confusion",
    "glad",
    "mace",
    "hybrid-confusion",
    "dawid-skene",
    "minimax-entropy",
    "subtypes",
)
Trying: TypeAlias = Callable[[str, int, int], None]  # a model, its number, and how many there are


class Choice(NamedTuple):
    """The model to take, and what spoke for it."""

    model: str
    best: str  # by held-out likelihood alone
    held: Mapping[str, HeldOut]  # by model, the plainest first
    folds: int

    @property
    def reason(self) -> str:
        """Why this model was taken, for people."""
        taken, best = self.held[self.model], self.held[self.best]
        what = f"held-out log likelihood {taken.mean:.4f} a judgment over {self.folds} folds"
        if self.model == self.best:
            return f"its {what} is the best of {len(self.held)} models"
        return (
            f"its {what} is within a standard error ({best.error:.4f}) of the best of {len(self.held)} models, "
            f"{best.mean:.4f} of {quote(self.best)}, and no model that is plainer comes as near"
        )


def choose(data: Any, *, folds: int = FOLDS, seed: int = 0, trying: Trying | None = None) -> Choice:
    """Return the model to take for these judgments; no gold is needed, and none is looked at."""
    judgments = read(data)
    models = [name for name in CANDIDATES if takes(name, judgments.scale)]
    held = {}
    for n, model in enumerate(models):
        if trying is not None:
            trying(model, n + 1, len(models))
        held[model] = held_out(judgments, model, folds=folds, seed=seed)
    return chosen(held, folds)


def fit_chosen(data: Any, gold: Any, options: Options, *, trying: Trying | None = None, **running: Any) -> Fit:
    """Return the fit of the model that is taken for these judgments, with the reason; ``running`` is passed on."""
    if options.start is not None:
        raise UsageError(
            f"start {quote(options.start)} is for a model that is named; 'auto' begins where each usually does"
        )
    if options.inference is not None or options.prior is not None or options.run is not None:
        raise UsageError("inference, prior and chains are for a model that is named; 'auto' climbs each as it is")
    judgments = read(data)
    choice = choose(judgments, seed=options.seed, trying=trying)
    quick = replace(options, inference=model_named(choice.model).inferences[-1])  # as it was measured
    return replace(fit(judgments, choice.model, gold, **vars(quick), **running), reason=choice.reason)


def chosen(held: Mapping[str, HeldOut], folds: int = FOLDS) -> Choice:
    """Return the plainest model, which stands first, within a standard error of the best."""
    best = max(held, key=lambda model: held[model].mean)
    enough = held[best].mean - held[best].error
    return Choice(next(model for model in held if held[model].mean >= enough), best, held, folds)


def takes(name: str, scale: Scale) -> bool:
    """Return whether a model can take labels on this scale."""
    model = model_named(name)
    return not (model.ordered and not scale.ordinal) and not (model.binary and len(scale) > 2)
