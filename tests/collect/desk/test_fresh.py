"""A consensus that knows every judgment."""

import json

import numpy as np
from sqlalchemy import create_engine

from adjudge.collect.consensus.accepted import mark
from adjudge.collect.desk.fresh import fresh_belief
from adjudge.collect.record import schema


def test_it_is_fitted_where_there_is_none_or_an_old_one(desk):
    """What was left is taken only if nothing came since."""
    left = desk.folder / "consensus"
    with desk.store.reading() as connection:
        fitted = fresh_belief(connection, desk.campaign)
        assert fitted is not None
        left.mkdir()
        np.save(left / "belief.npy", np.full(fitted.shape, 0.25))
        model = desk.campaign.settings.consensus.model
        (left / "summary.json").write_text(json.dumps({"mark": f"{model} old"}))
        assert np.array_equal(fresh_belief(connection, desk.campaign), fitted)
        now = f"{model} {mark(connection, desk.campaign.gold)}"
        (left / "summary.json").write_text(json.dumps({"mark": now}))
        assert (fresh_belief(connection, desk.campaign) == 0.25).all()


def test_without_judgments_there_is_none(desk):
    """Not even one that is believed beforehand."""
    engine = create_engine("sqlite://")
    schema.METADATA.create_all(engine)
    with engine.connect() as connection:
        assert fresh_belief(connection, desk.campaign) is None
