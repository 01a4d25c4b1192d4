"""A fit in words: the verdict on its labels and judges, what to do next, and what the verdict rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from scipy.special import bdtr, bdtrc

from adjudge.diagnostics.sentences import POOR, USEFUL
from adjudge.errors import quoted
from adjudge.inference.calibrate import doubt
from adjudge.inference.fitted import in_codes_of
from adjudge.metrics.agreement import agreement
from adjudge.reports.case import MOST_ITEMS

if TYPE_CHECKING:
    from adjudge.diagnostics.judges import Card
    from adjudge.reports.case import Case


SURE = 0.95  # probability from which a label is settled
DRAWS = 100  # for the agreement, whose intervals are not used
NAMED = 5  # judges or items that are named in a line, at most
COSTLY, MOST_CONFUSIONS = 0.1, 3  # share of all errors from which a confusion is mentioned, and how many are
NOTED, BY_CHANCE = 0.05, 0.05  # a claim that is off by more is contradicted, unless it may be by chance
POOR_JUDGE = "A judge is poor if their labels are surely no better, or hardly better, than guessing."


class Tile(NamedTuple):
    """A figure of the verdict: the number, what it counts, and a note."""

    value: str
    name: str
    note: str


class Action(NamedTuple):
    """Something to do, and the reason or the cost."""

    advice: str
    reason: str


def warnings_of(case: Case) -> list[str]:
    """Return what contradicts the verdict, as sentences: truths, correlated errors, a fit that has not converged."""
    fit = case.fit
    lines = [_contradiction(case)]
    if fit.calibration is None:
        reason = doubt(fit, in_codes_of(fit, case.judgments))
        lines.append(f"{reason[:1].upper()}{reason[1:]}." if reason else "")
    if not fit.converged:
        lines.append(f"The fit has not converged ({fit.stopped}); all results are provisional.")
    return [line for line in lines if line]


def tiles(case: Case) -> list[Tile]:
    """Return the figures of the verdict: the share of right labels, settled labels, given truths, useful judges.

    Items whose truth was given are counted apart: they are neither right nor settled by the judges.

    Examples
    --------
    >>> import adjudge
    >>> from adjudge.reports.case import build_case
    >>> judgments = adjudge.dataset("anesthesia")
    >>> [tile[:2] for tile in tiles(build_case(adjudge.fit(judgments, "dawid-skene"), judgments))][1:]
    [('44', 'settled labels'), ('5', 'useful judges')]
    """
    chance, figures = case.certainty, list[Tile]()
    if chance.size:
        sure = int((chance >= SURE).sum())
        figures = [
            _expected(case),
            Tile(f"{sure:,}", "settled labels", f"of {chance.size:,}: their probability is at least {SURE:.0%}"),
        ]
    if case.unused_truths is not None and case.unused_truths[0].size:
        right, size = _right(case)
        figures.append(
            Tile(
                f"{right / size:.0%}",
                "right where the truth is known",
                f"{right:,} of {size:,} labels; the fit did not use these truths",
            )
        )
    if case.is_gold.any():
        figures.append(Tile(f"{int(case.is_gold.sum()):,}", "truths given", "gold items, which are counted apart"))
    return [*figures, _judge_tile(case)]


def actions(case: Case) -> list[Action]:
    """Return what to do next, the most important first: judges, labels, gold, guidelines.

    Empty if nothing needs to be done.
    """
    return [
        *_judge_actions(case),
        *_watch_actions(case),
        *_label_actions(case),
        *_gold_actions(case),
        *_guideline_actions(case),
    ]


def basis(case: Case) -> list[str]:
    """Return what the verdict rests on: the size of the data, the vote, agreement and calibration, a sentence each.

    Examples
    --------
    >>> import adjudge
    >>> from adjudge.reports.case import build_case
    >>> judgments = adjudge.dataset("anesthesia")
    >>> basis(build_case(adjudge.fit(judgments, "dawid-skene"), judgments))[0]
    "315 judgments of 45 items by 5 judges; labels '1', '2', '3', '4'."
    """
    fit, judgments = case.fit, case.judgments
    topics = "" if fit.topics is None else f" on {_many(len(fit.topics), 'topic')}"
    size = f"{_many(len(judgments), 'judgment')} of {_many(len(judgments.items), 'item')}{topics}"
    lines = [f"{size} by {_many(len(fit.judge_names), 'judge')}; labels {quoted(fit.scale.names)}."]
    if case.certainty.size:
        against = int(case.overruled.sum())
        share = against / case.certainty.size
        lines.append(f"The consensus differs from the vote on {_many(against, 'item')} ({share:.1%}).")
    if case.is_gold.any():
        lines.append(_given_line(case))
    if len(fit.scale) > 1:
        text = agreement(judgments, draws=DRAWS).sentence
        lines.append(f"{text[:1].upper()}{text[1:]}.")
    if fit.calibration is not None:
        lines.append(f"{fit.calibration.words[:1].upper()}{fit.calibration.words[1:]}.")
    return lines


def _right(case: Case) -> tuple[int, int]:
    """Return how many labels are right of those whose truth is known and was not used, and their number."""
    if case.unused_truths is None:
        return 0, 0
    truth, posterior = case.unused_truths
    return int((posterior.argmax(axis=1) == truth).sum()), truth.size


def _contradiction(case: Case) -> str:
    """Return a sentence if known truths contradict the claimed share of right labels, an empty text if they do not."""
    right, size = _right(case)
    if not size or case.unused_truths is None:
        return ""
    calibration = case.fit.calibration
    if calibration is not None and calibration.margin:
        warning = calibration.contradicted(right, size).removeprefix("Warning: ")
        return f"{warning}." if warning else ""
    claimed = float(case.unused_truths[1].max(axis=1).mean())
    chance = bdtr(right, size, claimed) if right < claimed * size else bdtrc(right - 1, size, claimed)
    if abs(right / size - claimed) < NOTED or chance >= BY_CHANCE / 2:
        return ""
    labels = f"{size:,} labels with a known truth"
    return f"The model claims that {claimed:.0%} of the {labels} are right, but {right / size:.0%} are."


def _expected(case: Case) -> Tile:
    """Return the share of labels that is expected to be right."""
    calibration, name = case.fit.calibration, "expected to be right"
    if calibration is not None and calibration.margin:
        low, high = calibration.interval
        return Tile(f"{calibration.expected:.0%}", name, f"of the labels; 90 % interval {low:.0%} to {high:.0%}")
    return Tile(f"{case.certainty.mean():.0%}", name, f"of the labels, as {case.fit.model} has it; no interval")


def _judge_tile(case: Case) -> Tile:
    """Return how many judges are useful."""
    standings = [card.standing for card in case.cards]
    useful, poor = standings.count(USEFUL), standings.count(POOR)
    rest = len(standings) - useful - poor
    unclear = f", {rest:,} not yet clear" if rest else ""
    return Tile(f"{useful:,}", "useful judges", f"of {len(standings):,}; {poor:,} poor{unclear}")


def _given_line(case: Case) -> str:
    """Return how the judges would have labelled the items whose truth was given."""
    truth, posterior = case.known_truths
    if not truth.size:
        return f"The truth of {_many(int(case.is_gold.sum()), 'item')} was given; nobody judged them."
    right = float((posterior.argmax(axis=1) == truth).mean())
    items = f"{_many(truth.size, 'item')} with a known truth"
    return f"Without being told, the consensus would be right on {right:.0%} of {items}."


def _judge_actions(case: Case) -> list[Action]:
    """Return what to do about poor judges."""
    poor = [card for card in case.cards if card.standing == POOR]
    opposed = [card for card in poor if _is_opposed(card)]
    others = [card for card in poor if not _is_opposed(card)]
    lines = [
        _judge_action(
            case, opposed, "Ask {judges} whether they mix up labels", "They are wrong more often than chance"
        ),
        _judge_action(
            case, others, "Train, replace or leave out {judges}", "Their labels are hardly better than guessing"
        ),
    ]
    return [line for line in lines if line is not None]


def _is_opposed(card: Card) -> bool:
    """Whether a judge is wrong more often than chance, and probably on purpose or by a mix-up."""
    return card.informedness.high < 0 and card.p_adversarial > 0.5


def _judge_action(case: Case, cards: Sequence[Card], advice: str, claim: str) -> Action | None:
    """Return what to do about some judges, None if there are none."""
    if not cards:
        return None
    busiest = sorted(cards, key=lambda card: -card.judgments)
    names = quoted(card.judge for card in busiest[:NAMED])
    more = f" and {len(cards) - NAMED:,} more" if len(cards) > NAMED else ""
    share = sum(card.judgments for card in cards) / max(len(case.judgments), 1)
    return Action(advice.format(judges=_many(len(cards), "judge")), f"{claim}: {names}{more}, {share:.0%} of the work.")


def _watch_actions(case: Case) -> list[Action]:
    """Return what to ask judges who copy or changed."""
    watched = (
        (case.collusion, "Check whether judges copy"),
        (case.drift, "Ask judges what changed"),
        (case.new_work, "Look at the new work"),
    )
    return [Action(advice, each.sentence) for each, advice in watched if each is not None and each.flagged.any()]


def _label_actions(case: Case) -> list[Action]:
    """Return how to settle more labels, and what it costs."""
    lines, chance = list[Action](), case.certainty
    if chance.size:
        open_labels, helpful = int((chance < SURE).sum()), case.second_looks.helpful
        if open_labels and helpful:
            names = quoted(look.item for look in helpful[:NAMED])
            advice = f"Collect one more judgment on {_many(open_labels, 'label')} that {_are(open_labels)} not settled"
            lines.append(Action(advice, f"It costs {_many(open_labels, 'judgment')}; start with {names}."))
    calibration = case.fit.calibration
    if calibration is not None and calibration.more_gold:
        lines.append(Action("Have an expert label some items", f"{calibration.more_gold}."))
    return lines


def _gold_actions(case: Case) -> list[Action]:
    """Return which gold labels to check."""
    doubtful = case.second_looks.gold
    if not doubtful:
        return []
    names = quoted(look.item for look in doubtful[:NAMED])
    at_least = "at least " if len(doubtful) == MOST_ITEMS else ""
    also = " and more" if len(doubtful) > NAMED else ""
    advice = f"Check the gold label of {at_least}{_many(len(doubtful), 'item')}"
    return [Action(advice, f"The judges are sure of another label: {names}{also}.")]


def _guideline_actions(case: Case) -> list[Action]:
    """Return the most costly confusions, if they cost enough."""
    costly = [each.sentence for each in case.confusions if each.share >= COSTLY][:MOST_CONFUSIONS]
    return [Action("Make the guidelines clearer", " ".join(costly))] if costly else []


def _are(count: int) -> str:
    """Return the verb of a number."""
    return "is" if count == 1 else "are"


def _many(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
