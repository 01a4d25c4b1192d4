"""All parts of monitoring together."""

import pandas as pd
import pytest

import adjudge
from adjudge.diagnostics.drift import drift
from adjudge.diagnostics.monitor import monitor
from adjudge.errors import UsageError


def test_monitor_holds_all_parts_or_their_reasons():
    """Parts that cannot be computed say why."""
    crowd = adjudge.simulate("drifting", items=200, judges=8, labels=2)
    judgments = adjudge.read(crowd.table)
    fit = adjudge.fit(judgments, "dawid-skene")
    found = monitor(fit, judgments, new=judgments)
    assert list(found.parts) == ["drift", "chart", "streaks", "collusion", "new"]
    assert found.reasons == {"gold": "no truth is known: give gold"}
    assert found.drift.table.equals(drift(fit, judgments).table)
    assert found.table.rows()[4] == ("gold", False, "no truth is known: give gold")
    assert repr(found) == "Monitoring(drift, chart, streaks, collusion, new; 1 parts not available)"
    only = monitor(fit, crowd.table.to_pandas(), gold=crowd.truths, parts=("gold",))
    assert list(only.parts) == ["gold"]
    assert not only.reasons
    assert isinstance(only.table, pd.DataFrame)


def test_monitor_takes_the_gold_of_the_fit():
    """Unless other gold is given; and it refuses parts that do not exist."""
    judgments = adjudge.dataset("anesthesia")
    items = judgments.items.to_list()
    fit = adjudge.fit(judgments, "dawid-skene", gold={items[0]: 1, items[1]: 1})
    found = monitor(fit, judgments)
    assert found.gold.items == 2
    assert set(found.reasons) == {"drift", "chart", "streaks", "new"}
    with pytest.raises(UsageError) as error:
        monitor(fit, judgments, parts=("mood",))
    assert str(error.value) == ("part 'mood' is not one of 'drift', 'chart', 'streaks', 'collusion', 'gold', 'new'")
