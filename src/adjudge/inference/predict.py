"""``predict``: new judgments, judged with what an earlier fit learned."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from adjudge.arrays import Codes
from adjudge.data.judgments import Judgments, places
from adjudge.data.read import read
from adjudge.errors import UsageError, quoted
from adjudge.inference.calibrate import with_calibration
from adjudge.inference.em import Climb
from adjudge.inference.infer import cores, fit_record, parallel_blocks, posterior_over, topic_rows
from adjudge.inference.options import options_of
from adjudge.inference.params import Params
from adjudge.inference.result import Fit


def predict(known: Fit, data: Any) -> Fit:
    """Infer the truth of new items from a saved fit ("memory" mode): its judges and prevalence stay as they are.

    A judge the fit never met is taken for an average one.
    """
    scale = known.scale
    judgments = data if isinstance(data, Judgments) else read(data, labels=scale.labels, ordinal=scale.ordinal)
    if judgments.scale.names != scale.names:
        given = quoted(judgments.scale.names)
        raise UsageError(f"the judgments' labels {given} are not the fit's {quoted(scale.names)}")
    place = places(judgments.judges, known.judge_names)
    model, options = known.definition, options_of(known.options)
    block, topics = model.block(judgments)
    params = _of_judges(known.params, place)
    if params.unseen.size:
        params = params._replace(prevalence=topic_rows(known, judgments, topics))
    with ThreadPoolExecutor(cores()) as pool:
        posterior, evidence = posterior_over(model, parallel_blocks(block), params, pool)
    stopped = f"predicted from a fit of {len(known.items):,} items"
    outcome = Climb(params, () if model.hard else (evidence,), 0, stopped)
    found = fit_record(model, judgments, block, outcome, posterior, options)
    return found if known.calibration is None else with_calibration(found, known.calibration, block)


def _of_judges(params: Params, place: Codes) -> Params:
    """Return the params of the judges at these places; a judge at -1 is an average one."""
    met = place >= 0
    confusion = np.where(met[:, None, None], params.confusion[place], params.population)
    if not params.typical.size:
        return params._replace(confusion=confusion)
    return params._replace(confusion=confusion, skill=np.where(met[:, None], params.skill[place], params.typical))
