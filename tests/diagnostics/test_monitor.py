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
    result = monitor(fit, judgments, new=judgments)
    assert list(result.parts) == ["drift", "chart", "streaks", "collusion", "new"]
    assert result.reasons == {"gold": "no truth is known: give gold"}
    assert result.drift.table.equals(drift(fit, judgments).table)
    assert result.table.rows()[4] == ("gold", False, "no truth is known: give gold")
    assert repr(result) == "Monitoring(drift, chart, streaks, collusion, new; 1 parts not available)"
    only = monitor(fit, crowd.table.to_pandas(), gold=crowd.truths, parts=("gold",))
    assert list(only.parts) == ["gold"]
    assert not only.reasons
    assert isinstance(only.table, pd.DataFrame)


def test_monitor_takes_the_gold_of_the_fit():
    """Unless other gold is given; and it refuses parts that do not exist."""
    judgments = adjudge.dataset("anesthesia")
    items = judgments.items.to_list()
    fit = adjudge.fit(judgments, "dawid-skene", gold={items[0]: 1, items[1]: 1})
    result = monitor(fit, judgments)
    assert result.gold.items == 2
    assert set(result.reasons) == {"drift", "chart", "streaks", "new"}
    with pytest.raises(UsageError) as error:
        monitor(fit, judgments, parts=("mood",))
    assert str(error.value) == ("part 'mood' is not one of 'drift', 'chart', 'streaks', 'collusion', 'gold', 'new'")
