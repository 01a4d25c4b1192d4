"""``adjudge judges``: a card for every judge, the confusions they share, and items for a second look."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from adjudge.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from adjudge.diagnostics.evidence import Estimate
    from adjudge.diagnostics.gold_accuracy import Verification
    from adjudge.diagnostics.judges import Card, Cards, Judges, OtherAgreement
    from adjudge.diagnostics.second_looks import SecondLooks


HEAD = ("judge", "judgments", "right", "informedness", "bits", "P(chance)", "in a sentence")
SORTS: Mapping[str, Callable[[Card], Any]] = {  # the first is the default; undefined values come last
    "informedness": lambda card: -card.informedness.value,
    "right": lambda card: -card.right.value,
    "bits": lambda card: -card.bits.value,
    "judgments": lambda card: -card.judgments,
    "agreement": lambda card: (card.agreement is None, -card.agreement.value if card.agreement else 0.0),
    "seconds": lambda card: (card.seconds is None, card.seconds),
    "chance": lambda card: -card.p_chance,
    "judge": lambda card: card.judge,
}


@o.reads_judgments("judge", "labels", "ordinal", "values", "repeats")
def judges(
    fit: o.FitFolder,
    judgments: o.KeptTable = None,
    truth: o.TruthTable = None,
    judge_column: Annotated[str | None, o.column_option("judge-column", "judges in --judgments")] = None,
    reading: o.Reading = o.READING,
    seed: o.Seed = 0,
    judge: Annotated[
        str | None, o.output_option("--judge", "NAME", "Show the card of one judge, with their confusions.")
    ] = None,
    items: Annotated[
        bool,
        o.output_option(
            "--items", None, "Also show the items that deserve a second look; with --format, print only these."
        ),
    ] = False,
    sort: Annotated[
        str,
        o.output_option(
            "--sort", "BY", f"Order of the judges: {', '.join(SORTS)}; highest (of seconds, lowest) first."
        ),
    ] = "informedness",
    format: o.TableFormat = None,  # noqa: A002
    rows: o.Rows = 10,
) -> None:
    """Describe every judge: how good their labels are, how certain that is, and what to do about it.

    right is the probability that a label is right; informedness is Youden's J (1 is perfect, 0 is no better than
    chance); bits is the information of one judgment about the truth; P(chance) is the probability that the judge is no
    better than chance. Intervals are 90 % intervals. Below the judges stands whether their labels are right as often as
    the fit expects, by gold and by --truth; then the confusions that cost most labels and, with --items, the items that
    deserve a second look.

    \b
    $ adjudge simulate liu-wang --size items=300 --size gold=30 --out crowd/
    $ adjudge fit crowd/labels.csv --gold crowd/gold.csv --out fit/
    $ adjudge judges fit/ --items --rows 3
    $ adjudge judges fit/ --judge j2 --truth crowd/truth.csv
    $ adjudge judges fit/ --format csv
    """
    from adjudge.cli.output import check_output, kept_judgments, print_table
    from adjudge.diagnostics.judges import judges as describe
    from adjudge.errors import UsageError, not_one_of
    from adjudge.inference.save import load

    if sort not in SORTS:
        raise UsageError(not_one_of("sort", sort, SORTS))
    check_output(format, (judgments, truth))
    saved = load(fit)
    table = kept_judgments(fit, saved, judgments, replace(reading, judge=judge_column))
    crowd = describe(saved, table, truth, most=rows, seed=seed)
    if items and format is not None:
        print_table(crowd.second_looks.table, format)
        return
    chosen = sorted(crowd.cards, key=SORTS[sort]) if judge is None else [crowd.cards.of(judge)]
    if format is not None:
        print_table(replace(crowd.cards, cards=tuple(chosen)).table, format)
    elif judge is not None:
        _show_card(chosen[0], crowd.cards)
    else:
        _show_cards(chosen, sort, rows)
        _show_crowd(crowd, items)


def _show_crowd(crowd: Judges, items: bool) -> None:
    """Print the reliability of the cards, the confusions, and on demand the items for a second look."""
    from adjudge.cli.output import console
    from adjudge.errors import quoted

    screen, reliability, confusions = console(), crowd.cards.reliability, crowd.confusions
    screen.print(f"{reliability[:1].upper()}{reliability[1:]}.", markup=False)
    screen.print(
        f"\nConfusions, of {confusions.errors:,.0f} wrong labels"
        if confusions
        else "\nNo confusion of labels was found."
    )
    for each in confusions:
        screen.print(f"  {each.sentence} Such items: {quoted(each.items)}.", markup=False)
    if items:
        _show_items(crowd.second_looks)


def _show_cards(chosen: Sequence[Card], sort: str, rows: int) -> None:
    """Print the judges: all or, of many, the first and the last."""
    from adjudge.cli.output import NOTES, console, first_and_last, table

    with_rate = any(card.abstentions is not None for card in chosen)
    head = (*HEAD[:2], *(["abstained"] if with_rate else []), *HEAD[2:])
    lines, some = first_and_last([_line(card, with_rate) for card in chosen], rows)
    console().print(table(f"Judges by {sort}: {some}{len(chosen):,}", head, lines, NOTES))


def _line(card: Card, with_rate: bool) -> tuple[Any, ...]:
    """Return a judge as a row of the table, with the share of abstentions if there are any."""
    rate = (f"{card.abstention_rate or 0:.1%}",) if with_rate else ()
    numbers = round(card.informedness.value, 3) + 0.0, card.bits.value, card.p_chance  # there is no -0.000
    return (_name(card.judge), card.judgments, *rate, _interval(card.right, "-"), *numbers, card.sentence)


def _show_card(card: Card, cards: Cards) -> None:
    """Print one judge: every number with its interval or the reason why it is missing, and their confusions."""
    from adjudge.cli.output import CELLS, NOTES, console, table
    from adjudge.errors import quote

    screen, names = console(), cards.scale.names
    screen.print(f"Judge {quote(card.judge)}: {card.sentence}\n", markup=False)
    shared = f"on the {card.agreement.items:,} items that are clear without their judgment" if card.agreement else ""
    measures = [
        ("chance of being right", card.right, ""),
        ("sensitivity", card.sensitivity, card.reasons.get("sensitivity", f"of {quote(names[-1])}")),
        ("specificity", card.specificity, card.reasons.get("specificity", f"of {quote(names[-1])}")),
        ("informedness", card.informedness, "Youden's J: 1 is perfect, 0 is no better than chance"),
        ("bits per judgment", card.bits, f"of at most {cards.most_bits:.2f}"),
        ("agreement with the others", card.agreement, card.reasons.get("agreement", shared)),
        ("right on items with known truth", card.verification, card.reasons.get("verification", _expected(card))),
        ("levels too high", card.shift, card.reasons.get("shift", "on the scale, on average")),
    ]
    plain = [
        ("judgments", card.judgments, ""),
        ("abstentions", card.abstentions, card.reasons.get("abstentions", _share(card.abstention_rate))),
        ("items", card.items, ""),
        ("topics", card.topics, card.reasons.get("topics", "")),
        ("seconds between judgments", card.seconds, card.reasons.get("seconds", "the median")),
        ("P(no better than chance)", card.p_chance, ""),
        ("P(adversarial)", card.p_adversarial, ""),
    ]
    lines = [(name, _interval(estimate), note) for name, estimate, note in measures]
    lines += [(name, _number(value), note) for name, value, note in plain]
    screen.print(table("Card, with 90 % intervals", ("measure", "value", "note"), lines, NOTES))
    if len(names) > CELLS:
        screen.print(f"\nThe confusions of {len(names)} labels are too many to show: fit.confusion in Python has them.")
        return
    cells = [(name, *(_interval(card.cell(k, y), "-") for y in range(len(names)))) for k, name in enumerate(names)]
    bias = ("given minus true", *(_interval(each, sign="+") for each in card.bias))
    screen.print()
    screen.print(
        table("How often each true label (rows) is given each label (columns)", ("truth", *names), [*cells, bias])
    )


def _share(rate: float | None) -> str:
    """Return the share of abstentions as a note."""
    return "" if rate is None else f"{rate:.1%} of the judgments and abstentions"


def _expected(card: Card) -> str:
    """Return what the fit expects of the judgments on items with known truth."""
    check = card.verification
    return f"the fit expects {check.expected:.2f}, in {check.judgments:,} judgments" if check else ""


def _show_items(looks: SecondLooks) -> None:
    """Print the items for a second look, reason by reason."""
    from adjudge.cli.output import NOTES, console, table

    screen = console()
    head = ("item", "topic", "label", "probability", "judgments", "given", "reason")
    for each in looks:
        screen.print()
        if not each:
            screen.print(f"{each.title}: none")
            continue
        lines = [(_name(look.item), *(getattr(look, name) for name in head[1:])) for look in each]
        screen.print(table(each.title, head, lines, NOTES))


def _name(text: str) -> str:
    """Return a name that is not too long for a table."""
    from adjudge.cli.output import LONGEST

    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"


def _interval(estimate: Estimate | OtherAgreement | Verification | None, to: str = " to ", sign: str = "") -> str:
    """Return an estimate with its interval as text."""
    if estimate is None:
        return "-"
    value, low, high = (round(number, 2) + 0.0 for number in estimate[:3])  # there is no -0.00
    return f"{value:{sign}.2f} ({low:.2f}{to}{high:.2f})"


def _number(value: float | None) -> str:
    """Return a number as text."""
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
