"""``panel``: what a panel of judges is worth: people, experts and machines of one or several families.

It puts together how many independent judges a panel is worth, which families err together, what each judge adds, what
prompts and positions change, and whether a machine may stand in for a person. Each part is a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjudge.arrays import Codes
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments, Names
from adjudge.data.panel import EXPERT, MACHINE, PERSON, Panel, panel_of
from adjudge.data.read import read
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.effective_judges import (
    GOLD,
    JUDGMENTS,
    EffectiveJudges,
    FamilyCorrelations,
    Independent,
    effective_by_gold,
    effective_by_judgments,
    error_residuals,
    family_correlations,
    fit_independent,
)
from adjudge.diagnostics.marginal_value import Correlations, MarginalValues, consensus_of, marginal_values
from adjudge.diagnostics.prompt_effects import PositionEffect, PromptEffect, position_effects, prompt_effects
from adjudge.diagnostics.stand_in import StandIn, stand_ins
from adjudge.errors import UsageError, quote

PARTS = ("effective", "families", "values", "prompts", "positions", "stand_in")
MOST = 300_000  # judgments that are used; of a larger table, items are sampled
HIGHEST = 0.95  # correlation of errors that the consensus assumes at most
ENOUGH_PEOPLE = "Add the labels of three people on 100 items"

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class PanelAnalysis(NotebookView):
    """What a panel is worth. A part that could not be computed is missing, with the reason in ``reasons``."""

    judges: Names  # (J)
    panel: Panel  # (J)
    effective: tuple[EffectiveJudges, ...] = ()  # by gold, if there is any, and by agreement
    families: FamilyCorrelations | None = None
    values: MarginalValues | None = None
    prompts: tuple[PromptEffect, ...] = ()
    positions: tuple[PositionEffect, ...] = ()
    stand_in: tuple[StandIn, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    level: str = ""  # a sentence if the level of the scale is unknown because no label is by a person
    sampled: str = ""  # a sentence if only a part of the items was used
    kind: str = field(default="polars", repr=False)

    def __repr__(self) -> str:
        number = f"; {self.effective[0].sentence}" if self.effective else ""
        return f"PanelAnalysis({len(self.judges):,} judges{number})"

    @property
    def sentences(self) -> dict[str, str]:
        """The result of every part in a few sentences, by part; a part that is missing gives the reason."""
        text = {
            "effective": " ".join(each.sentence for each in self.effective),
            "families": "" if self.families is None else self.families.sentence,
            "values": "" if self.values is None else _value_sentence(self.values, self.judges),
            "prompts": _prompt_sentence(self.prompts) if self.prompts else "",
            "positions": _position_sentence(self.positions) if self.positions else "",
            "stand_in": _stand_in_sentence(self.stand_in) if self.stand_in else "",
        }
        return {name: text[name] or f"Not defined because {self.reasons[name]}." for name in PARTS}

    @property
    def table(self) -> Any:
        """A table with one row per part: its name, whether it is available, and what it says."""
        sentences = self.sentences
        available = [name not in self.reasons for name in PARTS]
        return frame({"part": list(PARTS), "available": available, "text": list(sentences.values())}, self.kind)

    def columns(self, part: str) -> dict[str, Any]:
        """Return the table of one part as named columns; a part that is missing is a ``UsageError``."""
        if part not in PARTS:
            raise UsageError(f"part {quote(part)} is not one of {', '.join(PARTS)}")
        if part in self.reasons and not getattr(self, part):
            raise UsageError(f"part {quote(part)} is not defined because {self.reasons[part]}")
        tables: Mapping[str, Callable[[], dict[str, Any]]] = {
            "effective": lambda: _effective_columns(self.effective),
            "families": lambda: _family_columns(self.families),
            "values": lambda: _value_columns(self.values, self.judges, self.panel),
            "prompts": lambda: _prompt_columns(self.prompts),
            "positions": lambda: _position_columns(self.positions),
            "stand_in": lambda: _stand_in_columns(self.stand_in),
        }
        return tables[part]()


def panel(
    judgments: Any,
    gold: Any = None,
    *,
    judges: Any = None,
    epsilon: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> PanelAnalysis:
    """Say what a panel of judges is worth, and which of its judges.

    Parameters
    ----------
    judgments
        A ``Judgments``, a frame, or a path.
    gold
        Known truths: a frame, a path, or a mapping from item to truth. With them, errors are measured instead of
        estimated.
    judges
        What is known about the judges (kind, family, model, prompt), as that of ``read``.
    epsilon
        How much worse than a person a machine may be and still stand in for them. Default: .2 if all people are
        experts, else .1.
    seed
        The seed of the pairs that are compared, of the halves of gold, and of the sample of a large table.
    progress
        Is called with a line of text now and then.

    Returns
    -------
    PanelAnalysis
        The effective number of judges, the correlations of families, the value of every judge, the effects of prompts
        and positions, and whether a machine may stand in for a person.

    Examples
    --------
    >>> import adjudge
    >>> crowd = adjudge.simulate("panel", items=300)
    >>> result = adjudge.panel(crowd.judgments, crowd.truths)
    >>> result.effective[0].sentence
    '15 judgments per item are worth about 4.3 independent ones (3.8 to 4.9), by their errors on gold.'
    """
    table = read(judgments, judges=judges)
    table, truth = _with_gold(table, gold)
    table, _ = table.without_repeats("drop")
    table, sampled = _sample(table, truth, seed)
    report = progress or (lambda step: None)
    facts = table.panel or panel_of(table.judges.to_list(), {})
    family, names = facts.family_codes()
    parts: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    effective: dict[str, EffectiveJudges] = {}

    def attempt(name: str, compute: Callable[[], Any]) -> Any:
        """Return the result of a part, None with a reason if it is not defined."""
        report(f"{name.replace('_', ' ')}")
        try:
            return compute()
        except UsageError as error:
            reasons.setdefault(name, str(error))
            return None

    lonely = _lonely(table)
    fitted: Independent | None = None
    if lonely:
        reasons |= dict.fromkeys(("effective", "families", "values"), lonely)
    else:
        if truth is not None:
            effective[GOLD] = attempt("effective", lambda: effective_by_gold(table, truth))
        fitted = attempt("effective", lambda: fit_independent(table, seed))
        if fitted is not None:
            effective[JUDGMENTS] = attempt("effective", lambda: effective_by_judgments(table, fitted))
        source = error_residuals(table, truth) if effective.get(GOLD) is not None and truth is not None else fitted
        if source is None:
            reasons["families"] = reasons["effective"]
        else:
            parts["families"] = attempt("families", lambda: family_correlations(table, family, names, source, seed))
        assumed = _correlations(parts.get("families"), effective, table, family)
        parts["values"] = attempt(
            "values", lambda: marginal_values(consensus_of(table, family, assumed, truth, seed), report)
        )
    parts["prompts"] = attempt("prompts", lambda: prompt_effects(table, truth)) or ()
    parts["positions"] = attempt("positions", lambda: position_effects(table)) or ()
    parts["stand_in"] = attempt("stand_in", lambda: stand_ins(table, epsilon)) or ()
    estimates = tuple(each for each in effective.values() if each is not None)
    if estimates:
        reasons.pop("effective", None)
    return PanelAnalysis(
        table.judges,
        facts,
        estimates,
        **parts,
        reasons=reasons,
        level=_level_sentence(table.panel, truth is not None),
        sampled=sampled,
        kind=table.kind,
    )


def _with_gold(judgments: Judgments, gold: Any) -> tuple[Judgments, Codes | None]:
    """Return the judgments, with items that only gold has, and the codes of the known truths."""
    if gold is None or (isinstance(gold, Mapping) and not gold):
        return judgments, None
    return (judgments, gold) if isinstance(gold, np.ndarray) else read_gold(gold, judgments)


def _sample(judgments: Judgments, gold: Codes | None, seed: int) -> tuple[Judgments, str]:
    """Return the judgments of a part of the items if there are many, and a sentence about it.

    Items are drawn at random; items with gold come first, because there are usually few of them.
    """
    if len(judgments) <= MOST:
        return judgments, ""
    count = np.diff(judgments.start)
    first = np.zeros(count.size, bool) if gold is None else gold >= 0
    order = np.lexsort((np.random.default_rng(seed).random(count.size), ~first))
    chosen = np.zeros(count.size, bool)
    chosen[order[np.cumsum(count[order]) <= MOST]] = True
    part = judgments.take(np.flatnonzero(chosen[judgments.item()]))
    drawn = "items that were drawn at random" if gold is None else "gold items and of others that were drawn at random"
    return part, f"{len(part):,} of {len(judgments):,} judgments were used: those of {drawn}."


def _lonely(judgments: Judgments) -> str:
    """Return why no two judges can be compared, an empty text if they can."""
    if np.unique(judgments.judge).size < 2:
        return "there is one judge, and a panel has at least two"
    if not (np.diff(judgments.start) > 1).any():
        return "no two judges judged the same item"
    return ""


def _correlations(
    families: FamilyCorrelations | None, effective: Mapping[str, Any], judgments: Judgments, family: Codes
) -> Correlations:
    """Return the correlations of errors that the consensus assumes.

    Without gold, the mean over all pairs is that of the effective number, and only the difference between pairs of one
    family and of two is from excess agreement, since shared errors lower both alike.
    """
    if families is None:
        return Correlations(0.0, 0.0)
    pair = families.within or families.between, families.between or families.within
    first, second = (0.0 if each is None else each.value for each in pair)
    if families.source == JUDGMENTS and effective.get(JUDGMENTS) is not None:
        mean, share = effective[JUDGMENTS].correlation.value, _share_within(judgments, family)
        gap = max(first - second, 0.0)
        first, second = mean + (1 - share) * gap, mean - share * gap
    return Correlations(float(np.clip(first, 0, HIGHEST)), float(np.clip(second, 0, HIGHEST)))


def _share_within(judgments: Judgments, family: Codes) -> float:
    """Return the share of pairs of judgments of an item whose judges are of one family."""
    count = np.diff(judgments.start).astype(float)
    cell = judgments.item().astype(np.int64) * (int(family.max(initial=0)) + 1) + family[judgments.judge]
    same = np.unique(cell, return_counts=True)[1].astype(float)
    return float((same * (same - 1)).sum() / max((count * (count - 1)).sum(), 1))


def _level_sentence(facts: Panel | None, has_gold: bool) -> str:
    """Return a sentence if no label is by a person, so that the level of the scale is unknown."""
    if has_gold:
        return ""
    if facts is None:
        return "Nothing says which judges are people and which are machines: give judges."
    if facts.of_kind(PERSON, EXPERT).size or not facts.of_kind(MACHINE).size:
        return ""
    only = "All judges are machines" if MACHINE in facts.kind and None not in facts.kind else "No judge is a person"
    return f"{only}: agreement among them says nothing about how people would label. {ENOUGH_PEOPLE}."


def _value_sentence(values: MarginalValues, judges: Names) -> str:
    """Return whom the panel can do without, and who adds most."""
    measure = "log loss on gold" if values.by_gold else "entropy of the consensus (its expected log loss)"
    best = int(np.argmax(values.value))
    text = f"The {measure} is {values.loss:.3f} per item. Judge {quote(judges[best])} adds most: without them it is "
    text += f"{values.value[best]:.4f} higher ({values.low[best]:.4f} to {values.high[best]:.4f})."
    if values.note:
        return f"{text} Nobody was chosen to be left out: {values.note}."
    if values.loss_without is None or values.loss_before is None:
        return f"{text} No judge can be left out without a loss."
    names = [quote(judges[int(j)]) for j in values.dropped]
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
    change = f"{values.loss_before:.3f} with all and {values.loss_without:.3f} without them"
    they = "This judge" if len(names) == 1 else f"These {len(names):,} judges together"
    return f"{text} {they} can be left out: {listed}. The log loss on gold items that did not choose them is {change}."


def _prompt_sentence(effects: Sequence[PromptEffect]) -> str:
    """Return the most certain effects of prompts."""
    unusual = [each for each in effects if each.unusual]
    tested = f"of {len(effects):,} comparisons of a prompt with the other prompts of its model"
    if not unusual:
        return f"No prompt changes labels beyond chance, {tested} (Holm)."
    first = unusual[0]
    text = f"{len(unusual):,} {tested} differ beyond chance (Holm). The most certain: prompt {quote(first.prompt)} of "
    span = f"{first.difference.low:+.3f} to {first.difference.high:+.3f}"
    return f"{text}{quote(first.model)} changes the {first.measure} by {first.difference.value:+.3f} ({span})."


def _position_sentence(effects: Sequence[PositionEffect]) -> str:
    """Return how much the order of options changes labels."""
    biased = sum(each.biased for each in effects)
    flips = float(np.mean([each.flips.value for each in effects]))
    text = f"The order of the options changes {flips:.0%} of labels, on average over {len(effects):,} pairs of judges"
    firsts = [each.first.value for each in effects if each.first is not None]
    if not firsts:
        return f"{text}."
    mean = f"the option shown first is chosen {float(np.mean(firsts)):.0%} of the time"
    return f"{text}; {mean}, and {biased:,} of the pairs prefer a position beyond chance (Holm)."


def _stand_in_sentence(tests: Sequence[StandIn]) -> str:
    """Return which machines may stand in for a person."""
    passed = [each for each in tests if each.passes]
    first = tests[0]
    how = f"alternative annotator test, epsilon {first.epsilon:g}, {first.people:,} people, {first.items:,} items"
    names = ", ".join(
        f"{quote(each.judge)} (wins against {each.winning_rate:.0%} of people, advantage {each.advantage:.2f})"
        for each in (passed or [first])[:5]
    )
    more = f" and {len(passed) - 5:,} more" if len(passed) > 5 else ""
    if not passed:
        return f"No machine may stand in for a person; the nearest is {names} ({how})."
    return f"{len(passed):,} of {len(tests):,} machines may stand in for a person: {names}{more} ({how})."


def _effective_columns(estimates: Sequence[EffectiveJudges]) -> dict[str, Any]:
    """Return the effective numbers as columns."""
    return {
        "source": [each.source for each in estimates],
        "items": [each.items for each in estimates],
        "judgments_per_item": [each.judgments for each in estimates],
        "effective": [each.number.value for each in estimates],
        "effective_low": [each.number.low for each in estimates],
        "effective_high": [each.number.high for each in estimates],
        "correlation": [each.correlation.value for each in estimates],
        "correlation_low": [each.correlation.low for each in estimates],
        "correlation_high": [each.correlation.high for each in estimates],
    }


def _family_columns(families: FamilyCorrelations | None) -> dict[str, Any]:
    """Return the correlations of pairs of families as columns, each pair once."""
    assert families is not None
    pairs = [(f, g) for f in range(len(families.families)) for g in range(f, len(families.families))]
    pairs = [(f, g) for f, g in pairs if not np.isnan(families.matrix[f, g])]
    return {
        "family": [families.families[f] for f, _ in pairs],
        "other": [families.families[g] for _, g in pairs],
        "measure": [families.measure] * len(pairs),
        "value": [float(families.matrix[f, g]) for f, g in pairs],
    }


def _value_columns(values: MarginalValues | None, judges: Names, facts: Panel) -> dict[str, Any]:
    """Return the values of judges as columns, the highest first."""
    assert values is not None
    order = np.argsort(-values.value, kind="stable")
    drop_order = {int(j): n for n, j in enumerate(values.dropped, start=1)}
    return {
        "judge": judges.gather(order),
        "kind": [facts.kind[j] for j in order],
        "family": [facts.family[j] for j in order],
        "measure": ["log loss on gold" if values.by_gold else "entropy"] * order.size,
        "value": values.value[order],
        "low": values.low[order],
        "high": values.high[order],
        "accuracy": values.accuracy[order],
        "left_out": [drop_order.get(int(j)) for j in order],
    }


def _prompt_columns(effects: Sequence[PromptEffect]) -> dict[str, Any]:
    """Return the effects of prompts as columns."""
    plain = ("model", "prompt", "measure", "items", "share", "others")
    return {name: [getattr(each, name) for each in effects] for name in plain} | {
        "difference": [each.difference.value for each in effects],
        "low": [each.difference.low for each in effects],
        "high": [each.difference.high for each in effects],
        "p": [each.p for each in effects],
        "unusual": [each.unusual for each in effects],
    }


def _position_columns(effects: Sequence[PositionEffect]) -> dict[str, Any]:
    """Return the effects of positions as columns."""
    return {
        "model": [each.model for each in effects],
        "prompt": [each.prompt for each in effects],
        "items": [each.items for each in effects],
        "flips": [each.flips.value for each in effects],
        "first": [None if each.first is None else each.first.value for each in effects],
        "first_low": [None if each.first is None else each.first.low for each in effects],
        "first_high": [None if each.first is None else each.first.high for each in effects],
        "p": [each.p for each in effects],
        "biased": [each.biased for each in effects],
    }


def _stand_in_columns(tests: Sequence[StandIn]) -> dict[str, Any]:
    """Return the tests of machines as columns."""
    columns: dict[str, Any] = {name: [getattr(each, name) for each in tests] for name in StandIn._fields}
    return columns | {"passes": [each.passes for each in tests]}
