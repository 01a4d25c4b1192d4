"""A campaign in figures, as `campaign new` and `campaign check` print them."""

from __future__ import annotations

from collections import Counter

from adjudge.collect.files.advice import workload
from adjudge.collect.files.campaign import Campaign


def summary(campaign: Campaign) -> list[tuple[str, str]]:
    """Return what is in a campaign and how much work it is: (what, figures)."""
    settings = campaign.settings
    work = workload(campaign.pool, settings)
    uses = Counter(one.use for one in campaign.sets)
    each, k = settings.assignment, settings.redundancy
    times = f"{k.judgments} of each" if not k.adaptive else f"up to {k.judgments} of each; adaptive, so mostly fewer"
    graded = Counter(gold.grade for gold in campaign.gold.values())
    return [
        ("topics", f"{len(campaign.topics):,}"),
        ("documents", f"{len(campaign.documents):,}"),
        ("pairs to judge", f"{len(campaign.pool):,}, in {work.sets:,} sets of {each.documents}"),
        ("judgments needed", f"{work.judgments:,} ({times})"),
        ("assignments needed", f"{work.assignments:,} ({each.sets} sets each, {each.gold_sets} of them gold)"),
        ("graded documents", f"{len(campaign.gold):,}" + _grades(graded)),
        ("gold sets", f"{uses['gold']:,}"),
        (
            "qualification sets",
            f"{uses['qualification']:,}" + ("" if settings.qualification.required else ", not asked"),
        ),
        ("monitoring sets", f"{uses['monitoring']:,}"),
    ]


def _grades(graded: Counter[int]) -> str:
    """Return how many documents have each grade, in parentheses."""
    parts = [f"{count:,} of grade {grade}" for grade, count in sorted(graded.items())]
    return f" ({', '.join(parts)})" if parts else ""
