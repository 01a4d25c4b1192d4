"""``adjudge judges``: what is known of every judge, and what to do about it."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from adjudge.diagnostics.cards import Card, Cards, OtherAgreement
    from adjudge.diagnostics.evidence import Estimate
    from adjudge.diagnostics.known_truths import Verification
    from adjudge.diagnostics.second_looks import SecondLooks


WHOLE = 400  # characters of a sentence: all of it
HEAD = ("judge", "judgments", "right", "informedness", "bits", "P(chance)", "in a sentence")
SORTS: Mapping[str, Callable[[Card], Any]] = {  # the first is the usual one; what is not defined comes last
    "informedness": lambda card: -card.informedness.value,
    "right": lambda card: -card.right.value,
    "bits": lambda card: -card.bits.value,
    "judgments": lambda card: -card.judgments,
    "agreement": lambda card: (card.agreement is None, -card.agreement.value if card.agreement else 0.0),
    "seconds": lambda card: (card.seconds is None, card.seconds),
    "chance": lambda card: -card.p_chance,
    "judge": lambda card: card.judge,
}


@o.reads_judgments("judge", "labels", "ordinal", "repeats")
def judges(
    fit: Annotated[str, typer.Argument(metavar="FIT", help="The folder that `adjudge fit --out` wrote.")],
    judgments: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="The judgments that it was fitted to, where they are not kept beside it."),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="A table of (item, label) not told to the fit, to hold labels against."),
    ] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", metavar="NAME", help="One judge's whole card, with the matrix.")
    ] = None,
    items: Annotated[
        bool, typer.Option("--items", help="The items to look at, too; with --format, these alone.")
    ] = False,
    sort: Annotated[
        str, typer.Option(metavar="BY", help=f"The order of judges: {', '.join(SORTS)}; most, or fastest, first.")
    ] = "informedness",
    format: Annotated[  # noqa: A002
        str | None, typer.Option(metavar="FORMAT", help="Print the cards for machines: csv, jsonl or parquet.")
    ] = None,
    judge_column: Annotated[
        str | None, typer.Option("--judge-column", metavar="COLUMN", help="The column of judges in --judgments.")
    ] = None,
    reading: o.Reading = o.USUAL,
    seed: o.Seed = 0,
    rows: o.Rows = 10,
) -> None:
    """Say of every judge how good the labels are, how sure that is, and what to do about it.

    Right is the chance of being right; informedness is 1 for a judge who is always right and 0 for one
    who does not look; bits is what one judgment tells of a truth; P(chance) is the probability of being no
    better than chance. Intervals are of 90 %. Below the judges stands whether labels are right as often as
    the fit says, by gold and by --truth; then come the confusions that cost most labels and, with --items,
    the items that deserve a second look.

    \b
    $ adjudge simulate liu-wang --size items=300 --size gold=30 --out crowd/
    $ adjudge fit crowd/labels.csv --gold crowd/gold.csv --out fit/
    $ adjudge judges fit/ --items --rows 3
    $ adjudge judges fit/ --judge j2 --truth crowd/truth.csv
    $ adjudge judges fit/ --format csv
    """
    from adjudge.cli.output import kept_judgments, refuse_late_surprises
    from adjudge.cli.show import console
    from adjudge.data.write import FORMATS
    from adjudge.diagnostics.confusions import confusions
    from adjudge.diagnostics.second_looks import second_looks
    from adjudge.errors import UsageError, quoted
    from adjudge.inference.save import load
    from adjudge.reports.case import case_of

    if sort not in SORTS:
        raise UsageError(f"sort {sort!r} is not one of {quoted(SORTS)}")
    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {quoted(FORMATS)}")
    refuse_late_surprises(None, format, (judgments, truth))
    found = load(fit)
    given = kept_judgments(fit, found, judgments, replace(reading, judge=judge_column))
    if items and format is not None:
        _print(second_looks(found, given, most=rows).table, format)
        return
    known = case_of(found, given, truth, seed=seed).cards
    chosen = sorted(known, key=SORTS[sort]) if judge is None else [known.of(judge)]
    if format is not None:
        _print(replace(known, cards=tuple(chosen)).table, format)
        return
    screen = console()
    if judge is not None:
        _show_card(screen, chosen[0], known)
        return
    _show_cards(screen, chosen, sort, rows)
    screen.print(f"{known.reliability[:1].upper()}{known.reliability[1:]}.", markup=False)
    costly = confusions(found, given, most=rows, low=known.low)
    screen.print(f"\nConfusions, of {costly.errors:,.0f} wrong labels" if costly else "\nNo label is wrong.")
    for each in costly:
        screen.print(f"  {each.sentence} Such items: {quoted(each.items)}.", markup=False)
    if items:
        _show_items(screen, second_looks(found, given, most=rows))


def _print(table: Any, format: str) -> None:  # noqa: A002
    """Print a table for machines."""
    from adjudge.data.write import table_text

    sys.stdout.buffer.write(table_text(table, format))
    sys.stdout.buffer.flush()


def _show_cards(screen: Console, chosen: Sequence[Card], sort: str, rows: int) -> None:
    """Print the judges: all or, of many, the first and the last."""
    from adjudge.cli.show import table

    lines, some = [_line(card) for card in chosen], ""
    if len(lines) > 2 * rows:
        lines, some = [*lines[:rows], ("...",) * len(HEAD), *lines[-rows:]], f"the first and last {rows} of "
    screen.print(table(f"Judges by {sort}: {some}{len(chosen):,}", HEAD, lines, WHOLE))


def _line(card: Card) -> tuple[Any, ...]:
    """Return a judge as a row of the table."""
    numbers = round(card.informedness.value, 3) + 0.0, card.bits.value, card.p_chance  # there is no -0.000
    return (_name(card.judge), card.judgments, _interval(card.right, "-"), *numbers, card.sentence)


def _show_card(screen: Console, card: Card, known: Cards) -> None:
    """Print one judge: every number with its interval or the reason why there is none, and the matrix."""
    from adjudge.cli.show import CELLS, table
    from adjudge.errors import quote

    names = known.scale.names
    screen.print(f"Judge {quote(card.judge)}: {card.sentence}\n", markup=False)
    on = f"on the {card.agreement.items:,} items of which they tell" if card.agreement else ""
    measures = [
        ("chance of being right", card.right, ""),
        ("sensitivity", card.sensitivity, card.reasons.get("sensitivity", f"of {quote(names[-1])}")),
        ("specificity", card.specificity, card.reasons.get("specificity", f"of {quote(names[-1])}")),
        ("informedness", card.informedness, "1 always right, 0 does not look"),
        ("bits of a judgment", card.bits, f"of at most {known.most_bits:.2f}"),
        ("agreement with the others", card.agreement, card.reasons.get("agreement", on)),
        ("right where the truth is known", card.verification, card.reasons.get("verification", _expected(card))),
        ("levels too high", card.shift, card.reasons.get("shift", "on the scale, on average")),
    ]
    plain = [
        ("judgments", card.judgments, ""),
        ("items", card.items, ""),
        ("topics", card.topics, card.reasons.get("topics", "")),
        ("seconds between judgments", card.seconds, card.reasons.get("seconds", "the median")),
        ("P(no better than chance)", card.p_chance, ""),
        ("P(adversarial)", card.p_adversarial, ""),
    ]
    lines = [(what, _interval(estimate), note) for what, estimate, note in measures]
    lines += [(what, _number(value), note) for what, value, note in plain]
    screen.print(table("The card, with 90 % intervals", ("measure", "value", "note"), lines, WHOLE))
    if len(names) > CELLS:
        screen.print(
            f"\nThe matrix of {len(names)} labels is too large for a screen: fit.confusion in Python holds it."
        )
        return
    cells = [(name, *(_interval(card.cell(k, y), "-") for y in range(len(names)))) for k, name in enumerate(names)]
    bias = ("more than true", *(_interval(each, sign="+") for each in card.bias))
    screen.print()
    screen.print(table("How often each truth (rows) is given each label (columns)", ("truth", *names), [*cells, bias]))


def _expected(card: Card) -> str:
    """Return what the fit says of labels whose truth is known."""
    check = card.verification
    return f"the fit expects {check.expected:.2f}, of {check.judgments:,} judgments" if check else ""


def _show_items(screen: Console, looks: SecondLooks) -> None:
    """Print the items to look at, reason by reason."""
    from adjudge.cli.show import table

    head = ("item", "topic", "label", "probability", "judgments", "given", "reason")
    for each in looks:
        screen.print()
        if not each:
            screen.print(f"{each.title}: none")
            continue
        lines = [(_name(look.item), *(getattr(look, name) for name in head[1:])) for look in each]
        screen.print(table(each.title, head, lines, WHOLE))


def _name(text: str) -> str:
    """Return a name that is not too long for a table."""
    from adjudge.cli.show import LONGEST

    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"


def _interval(estimate: Estimate | OtherAgreement | Verification | None, to: str = " to ", sign: str = "") -> str:
    """Return an estimate as people read it."""
    if estimate is None:
        return "-"
    value, low, high = (round(number, 2) + 0.0 for number in estimate[:3])  # there is no -0.00
    return f"{value:{sign}.2f} ({low:.2f}{to}{high:.2f})"


def _number(value: float | None) -> str:
    """Return a number as people read it."""
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
