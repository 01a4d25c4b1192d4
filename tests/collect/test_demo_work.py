from sqlalchemy import func, select

from adjudge.collect.demo_work import DONE, simulate_demo
from adjudge.collect.files.demo import make_demo
from adjudge.collect.record import schema as s
from adjudge.collect.record.reading import reading_campaign
from adjudge.collect.record.verify import wrong


def test_the_demo_is_alive(tmp_path):
    """Judges have qualified, worked, passed, been returned and contested; nothing is wrong; there is work left."""
    campaign = make_demo(tmp_path / "demo")
    judgments = simulate_demo(tmp_path / "demo", seed=3)
    assert DONE * 3 * len(campaign.pool) <= judgments < 3 * len(campaign.pool)
    with reading_campaign(tmp_path / "demo") as (loaded, connection):
        assert wrong(connection, loaded) == []
        ended = {row.outcome for row in connection.execute(select(s.outcomes.c.outcome).distinct())}
        assert {"passed", "returned", "submitted"} <= ended
        assert connection.scalar(select(func.count()).select_from(s.contests)) > 0
        assert connection.scalar(select(func.min(s.judgments.c.at))) < connection.scalar(
            select(func.max(s.judgments.c.at))
        )


def test_the_same_seed_is_the_same_work(tmp_path):
    """Simulated work repeats."""
    counts = []
    for name in ("a", "b"):
        make_demo(tmp_path / name)
        counts.append(simulate_demo(tmp_path / name, seed=1))
    assert counts[0] == counts[1]
