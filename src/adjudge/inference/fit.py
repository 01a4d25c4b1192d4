"""``fit``: judgments in, consensus out. The doorway to every model: it reads, looks up, infers and calibrates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from adjudge.arrays import Codes
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.errors import UsageError, quote
from adjudge.inference.calibrate import calibrated, default_calibration
from adjudge.inference.chains import Run
from adjudge.inference.em import Progress
from adjudge.inference.infer import infer
from adjudge.inference.model import MODELS, configure, model_named, refuse_no_topics, refuse_other_scales
from adjudge.inference.options import Options
from adjudge.inference.params import Prior
from adjudge.inference.result import Fit
from adjudge.inference.select import Trying, choose, held_out, why_no_comparison, with_share

AUTO = "auto"
DEFAULT = "consensus"  # if no model is named


def fit(
    judgments: Any,
    model: str | None = None,
    gold: Any = None,
    *,
    judges: Any = None,
    seed: int = 0,
    ties: str = "random",
    start: str | Fit | None = None,
    tolerance: float = 1e-8,
    iterations: int = 5_000,
    accelerate: bool = True,
    inference: str | None = None,
    run: Run | None = None,
    prior: Prior | None = None,
    difficulty: bool = False,
    calibrate: str | None = None,
    prevalence: str = "global",
    workers: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Infer the truth of every item, and how every judge errs, from judgments.

    Parameters
    ----------
    judgments
        A ``Judgments``, a frame, or a path.
    model
        A name of ``MODELS``, or ``"auto"``. By default ``"consensus"``, whose probabilities are calibrated.
    gold
        Known truths, which are kept fixed: a frame, a path, or a mapping from item to truth.
    judges
        What is known about the judges (kind, family, model, prompt), as that of ``read``. The fit keeps it.
    seed
        The seed of all random numbers: ties, chains, calibration.
    ties
        The label of an item whose most likely labels are tied: ``"random"`` (by seed), ``"first"`` of the scale, or
        ``"all"`` of them.
    start
        Where EM starts: at the votes (``"vote"``), at accurate judges (``"accurate"``), at another start of the model,
        or at the judges of an earlier fit of the same model, matched by name.
    tolerance, iterations
        EM stops when a step improves the log-likelihood per judgment by less than ``tolerance`` (with ``accelerate``,
        when a cycle improves it by less than a tenth of that), or after ``iterations`` passes over the judgments.
    accelerate
        Whether EM is accelerated (SQUAREM).
    inference
        For models that are sampled: ``"gibbs"`` for Markov chains, or ``"map"`` for EM if the model has it.
    run
        How many chains there are and how long they are.
    prior
        The prior of models that have one.
    difficulty
        Whether some items are harder than others for all judges; for hybrid-confusion and hierarchical. It is the same
        as ``Prior(difficulty=True)``.
    calibrate
        Judges do not err independently, as models assume. Model ``"consensus"`` is calibrated by weights that were
        learned on other crowds (``"crowds"``) and, from five gold items on, by what these teach (``"gold"``). A model
        that is named answers as in its paper (``"none"``); ``"gold"`` calibrates it too, and ``"judgments"`` softens
        its probabilities where errors are correlated.
    prevalence
        One prevalence of truths for all items (``"global"``), or one per topic (``"topic"``), for models that learn it.
    workers
        The number of threads; results do not depend on it.
    progress
        Is called with the number of passes and the log evidence, or for chains the worst R-hat.

    Returns
    -------
    Fit
        The consensus (``labels``), the judges (``judges``, ``confusion``), and what was learned (``params``).

    Examples
    --------
    >>> from adjudge import dataset, fit
    >>> fit(dataset("anesthesia"), "dawid-skene").labels["label"].head(3).to_list()
    ['1', '4', '2']
    """
    _refuse_order(judgments, model)
    judgments = read(judgments, judges=judges) if judges is not None else judgments
    earlier, start_name = (start, None) if isinstance(start, Fit) else (None, start)
    name = model or DEFAULT
    prior = replace(prior or Prior(), difficulty=True) if difficulty else prior
    options = Options(
        seed, ties, start_name, tolerance, iterations, accelerate, inference, run, prior, calibrate, prevalence
    )
    if name == AUTO:
        if earlier is not None:
            raise UsageError(f"start is a fit of '{earlier.model}': name that model, because 'auto' may choose another")
        return fit_auto(judgments, gold, options, workers=workers, progress=progress)
    definition = model_named(name)
    options = replace(options, inference=inference or definition.inferences[0])
    definition = configure(definition, options)
    judgments, known_truths = _with_gold(read(judgments), gold)
    refuse_other_scales(definition, judgments.scale, prior)
    refuse_no_topics(options, judgments.topics is not None)
    by = default_calibration(definition, calibrate, judgments, known_truths)
    visible = None if by == "gold" and definition.by_kind else known_truths  # the consensus learns from gold later
    result = infer(definition, judgments, visible, options, workers=workers, progress=progress, earlier=earlier)
    return calibrate_finished(result, judgments, known_truths, calibrate)


def _refuse_order(judgments: Any, model: Any) -> None:
    """Refuse arguments in another order: a model before the judgments, or gold in place of the model."""
    if model is None or isinstance(model, str):
        return
    if isinstance(judgments, str) and judgments in MODELS:
        raise UsageError(f"the arguments are swapped: the judgments come first, then the model {quote(judgments)}")
    raise UsageError(
        f"the second argument is the model, a name such as 'dawid-skene', got {type(model).__name__}; "
        "gold is given as gold="
    )


def calibrate_finished(result: Fit, judgments: Judgments, gold: Codes | None, calibrate: str | None) -> Fit:
    """Return a fit with calibrated probabilities; one that was interrupted, or is now, keeps the model's own."""
    by = default_calibration(result.definition, calibrate, judgments, gold)
    if by == "none" or result.stopped == "interrupted":
        return result
    try:
        return calibrated(result, judgments, gold, by)
    except KeyboardInterrupt:
        return replace(result, stopped="interrupted")


def fit_auto(
    data: Any,
    gold: Any,
    options: Options,
    *,
    trying: Trying | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Return the consensus and, where held-out judgments speak for it, a share of the model that ``choose`` takes.

    Models are compared only if items have three judgments on average, and not if gold teaches more than held-out
    judgments can. The share is small, and none if the model contradicts the consensus on many items: without gold
    nothing says which of them is right.
    """
    if options.start is not None:
        raise UsageError(
            f"start {quote(options.start)} is for a model that is named: 'auto' uses the default start of each model"
        )
    if options.inference is not None or options.prior is not None or options.run is not None:
        raise UsageError(
            "inference, prior and chains are for a model that is named: 'auto' uses EM with each model's defaults"
        )
    if options.prevalence != "global":
        raise UsageError("prevalence 'topic' is for a model that is named: 'auto' compares models with a global one")
    judgments = read(data)
    base = fit(judgments, DEFAULT, gold, **vars(options), workers=workers, progress=progress)
    if base.stopped == "interrupted":
        return base
    reason = why_no_comparison(base, judgments)
    if reason:
        return replace(base, reason=reason)
    try:
        choice = choose(judgments, seed=options.seed, trying=trying)
        reference = held_out(judgments, DEFAULT, seed=options.seed)
        chosen = Options(options.seed, options.ties, inference=model_named(choice.model).inferences[-1])
        other = infer(model_named(choice.model), judgments, None, chosen, workers=workers, progress=progress)
    except KeyboardInterrupt:
        reason = "the comparison of models was interrupted, so that it is the consensus alone"
        return replace(base, reason=reason, stopped="interrupted")
    return with_share(base, judgments, other, choice, reference)


def _with_gold(judgments: Judgments, gold: Any) -> tuple[Judgments, Codes | None]:
    """Return the judgments, with items that only gold has, and the codes of the known truths."""
    if gold is None or (isinstance(gold, Mapping) and not gold):
        return judgments, None
    if not isinstance(gold, np.ndarray):
        return read_gold(gold, judgments)
    if gold.shape != (len(judgments.items),):
        raise UsageError(f"gold codes have the shape {gold.shape}, and there are {len(judgments.items):,} items")
    return judgments, gold
