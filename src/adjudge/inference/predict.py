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
from adjudge.inference.infer import cores, fit_record, parallel_blocks, posterior_over
from adjudge.inference.options import options_of
from adjudge.inference.params import Params
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block


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
    block = judgments.block(by_topic=model.populations)
    params, block = _of_topics(known, _of_judges(known.params, place), judgments, block)
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


def _of_topics(known: Fit, params: Params, judgments: Judgments, block: Block) -> tuple[Params, Block]:
    """Return params with the prevalence of each new topic, and the block with its items in these.

    A topic never seen has the prevalence of the population, and so have items without one.
    """
    if known.topics is None or not params.unseen.size:
        return params, block._replace(topic=np.zeros_like(block.topic))
    if judgments.topics is None or judgments.topic is None:
        return params._replace(prevalence=params.unseen[None]), block._replace(topic=np.zeros_like(block.topic))
    everywhere = np.vstack([params.prevalence, params.unseen])
    prevalence = everywhere[places(judgments.topics, known.topics)]  # where it is -1, the last
    without = judgments.topic < 0
    if not without.any():
        return params._replace(prevalence=prevalence), block
    topic = np.where(without, len(judgments.topics), judgments.topic)
    return params._replace(prevalence=np.vstack([prevalence, params.unseen])), block._replace(topic=topic)
