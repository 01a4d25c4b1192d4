"""``predict``: the truths of new items, with the judges of an earlier fit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments, places
from adjudge.data.panel import Panel, extend_panel, panel_of
from adjudge.data.read import read
from adjudge.errors import UsageError, quoted
from adjudge.inference.calibrate import with_calibration
from adjudge.inference.calibration import Calibration
from adjudge.inference.components import SOFT
from adjudge.inference.em import EmResult
from adjudge.inference.infer import cores, fit_record, parallel_blocks, posterior_over, topic_rows
from adjudge.inference.model import Model
from adjudge.inference.options import options_of
from adjudge.inference.params import Params
from adjudge.inference.people import evidence_weights
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit


def predict(fit: Fit | str | PathLike[str], judgments: Any) -> Fit:
    """Infer the truth of new items with the judges and the prevalence of a fit, which stay as they are.

    This is the mode with memory of paper 003: p(truth k | labels) is proportional to pi_k prod_n theta[judge_n, k,
    label_n]. The majority vote learns pi and theta as well, by counting against the labels that won. Its prediction
    is therefore no vote on the new items; ``fit`` is that vote.

    Parameters
    ----------
    fit
        The fit that knows the judges, or the folder of a saved one.
    judgments
        New judgments: a ``Judgments``, a frame, or a path. A judge that the fit does not have is an average one, and a
        topic that it does not have has the average prevalence.

    Returns
    -------
    Fit
        The consensus on the new items.

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> adjudge.predict(adjudge.fit(judgments), judgments.take(range(20)))
    Fit(consensus: 45 items, 5 judges; predicted from a fit of 45 items, log evidence ...)
    """
    fit = read_fit(fit, judgments)
    scale = fit.scale
    if not isinstance(judgments, Judgments):
        judgments = read(judgments, labels=scale)
    if judgments.scale.names != scale.names:
        labels = quoted(judgments.scale.names)
        raise UsageError(f"the judgments' labels {labels} are not the fit's {quoted(scale.names)}")
    position = places(judgments.judges, fit.judge_names)
    judgments = replace(judgments, panel=_panel(fit, judgments, position))
    model, options = fit.definition, options_of(fit.options)
    calibration = fit.calibration
    if calibration is not None:
        calibration = calibration.of_judges(position, fit.params.population, fit.panel, judgments.panel)
    block, topics = model.block(judgments)
    if model.by_kind and judgments.panel is not None:
        block = block._replace(weight=_weights(calibration, judgments))
    params = _of_judges(fit.params, position)
    if params.unseen.size:
        params = params._replace(prevalence=topic_rows(fit, judgments, topics))
    with ThreadPoolExecutor(cores()) as pool:
        posterior, evidence = posterior_over(_remembering(model), parallel_blocks(block), params, pool)
    stopped = f"predicted from a fit of {len(fit.items):,} items"
    outcome = EmResult(params, () if model.hard else (evidence,), 0, stopped)
    result = fit_record(model, judgments, block, outcome, posterior, options)
    return result if calibration is None else with_calibration(result, calibration, block)


def _remembering(model: Model) -> Model:
    """Return the model by which new items are labelled: Bayes' rule, if the model's own posterior learns nothing."""
    remembers = model.assignment is not None and model.assignment.memory
    return replace(model, assignment=SOFT) if remembers else model


def _weights(calibration: Calibration | None, judgments: Judgments) -> Floats:
    """Return how much each judgment counts (N): people stand beside the judges that were fitted, as in the fit."""
    learned = None if calibration is None else calibration.gold_map
    fitted = np.zeros(len(judgments.judges), np.int64) if learned is None or not learned.tier.size else learned.tier
    weight = evidence_weights(judgments, fitted)
    return np.empty(0) if weight is None else weight


def _panel(fit: Fit, judgments: Judgments, position: Codes) -> Panel | None:
    """Return what is known about the judges: what the fit knows of them, and then what the judgments say."""
    met = np.flatnonzero(position >= 0)
    fitted_panel = None if fit.panel is None else fit.panel.take(position[met])
    empty = None if fitted_panel is None else panel_of(judgments.judges.to_list(), {})
    first = extend_panel(empty, fitted_panel, met, judgments.judges)
    return extend_panel(first, judgments.panel, np.arange(position.size), judgments.judges)


def _of_judges(params: Params, position: Codes) -> Params:
    """Return the params of the judges at these positions; -1 is the average judge."""
    met = position >= 0
    confusion = np.where(met[:, None, None], params.confusion[position], params.population)
    if not params.typical.size:
        return params._replace(confusion=confusion)
    return params._replace(confusion=confusion, skill=np.where(met[:, None], params.skill[position], params.typical))
