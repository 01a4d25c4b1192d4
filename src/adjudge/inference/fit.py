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
from adjudge.inference.calibrate import calibrated
from adjudge.inference.chains import Run
from adjudge.inference.em import Progress
from adjudge.inference.infer import infer
from adjudge.inference.model import configure, model_named, refuse_no_topics, refuse_other_scales
from adjudge.inference.options import Options
from adjudge.inference.params import Prior
from adjudge.inference.result import Fit
from adjudge.inference.select import Trying, choose

AUTO = "auto"
DEFAULT = "dawid-skene"  # if no model is named
CONSENSUS = "consensus"  # the model whose probabilities are weighed as other crowds taught


def fit(
    judgments: Any,
    model: str | None = None,
    gold: Any = None,
    *,
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
        A name of ``MODELS``, or ``"auto"`` for the model that ``choose`` takes. By default Dawid-Skene, calibrated.
    gold
        Known truths, which are kept fixed: a frame, a path, or a mapping from item to truth.
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
        Judges do not err independently, as models assume. ``"judgments"`` softens probabilities where errors are
        correlated, ``"gold"`` learns it from known truths, and ``"none"`` keeps the model's own probabilities. For
        model ``"consensus"``, ``"crowds"`` uses weights that were learned on other crowds, and is the default. For
        other models that are named the default is ``"none"``, as in their papers, and otherwise ``"judgments"``.
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
    earlier, start_name = (start, None) if isinstance(start, Fit) else (None, start)
    name, calibrate = default_model(model, calibrate)
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
    result = infer(definition, judgments, known_truths, options, workers=workers, progress=progress, earlier=earlier)
    return calibrate_finished(result, judgments, known_truths, calibrate)


def calibrate_finished(result: Fit, judgments: Judgments, gold: Codes | None, by: str) -> Fit:
    """Return a fit with calibrated probabilities; one that was interrupted, or is now, keeps the model's own."""
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
    """Return the fit of the model that ``choose`` takes for these judgments, with the reason for the choice."""
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
    choice = choose(judgments, seed=options.seed, trying=trying)
    chosen = {**vars(options), "inference": model_named(choice.model).inferences[-1]}  # as it was measured
    result = fit(judgments, choice.model, gold, **chosen, workers=workers, progress=progress)
    return replace(result, reason=choice.reason)


def default_model(model: str | None, calibrate: str | None) -> tuple[str, str]:
    """Return the name of the model and its calibration: only ``consensus`` is calibrated if it is named."""
    if calibrate == "crowds" and model != CONSENSUS:
        raise UsageError(
            f"calibrate 'crowds' works with model '{CONSENSUS}' only: its weights were learned for that model"
        )
    calibrations = {None: "judgments", AUTO: "judgments", CONSENSUS: "crowds"}
    return model or DEFAULT, calibrate or calibrations.get(model, "none")


def _with_gold(judgments: Judgments, gold: Any) -> tuple[Judgments, Codes | None]:
    """Return the judgments, with items that only gold has, and the codes of the known truths."""
    if gold is None or (isinstance(gold, Mapping) and not gold):
        return judgments, None
    if not isinstance(gold, np.ndarray):
        return read_gold(gold, judgments)
    if gold.shape != (len(judgments.items),):
        raise UsageError(f"gold codes have the shape {gold.shape}, and there are {len(judgments.items):,} items")
    return judgments, gold
