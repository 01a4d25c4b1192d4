"""A consensus that knows every judgment, for exports from the command line: no studio need have run meanwhile.

What the studio left is taken if nothing came since; otherwise the model is fitted here and now, in memory, so that
the folder may be one that cannot be written to, and a studio that is running is not disturbed.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import func, select

from adjudge.collect.consensus.accepted import accepted, mark
from adjudge.collect.desk.found import belief_found, summary_found
from adjudge.collect.record.schema import judgments
from adjudge.errors import AdjudgeWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from adjudge.collect.files.campaign import Campaign


def fresh_belief(connection: Connection, campaign: Campaign) -> NDArray[np.float64] | None:
    """Return the probability that each item is relevant, (I,) by its number; None where nobody has judged."""
    if not connection.scalar(select(func.count()).select_from(judgments)):
        return None
    model = campaign.settings.consensus.model
    left = summary_found(campaign.folder) or {}
    belief = belief_found(campaign.folder)
    if belief is not None and left.get("mark") == f"{model} {mark(connection, campaign.gold)}":
        return belief
    from adjudge.collect.consensus.consensus import consensus

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        return np.asarray(consensus(accepted(connection, campaign.gold), model).belief, np.float64)
