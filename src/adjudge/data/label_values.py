"""What the values in a column of labels mean: a label, a missing value, an abstention, or another spelling of a label.

Tables say in many ways that a label is missing (an empty cell, ``NaN``, ``n/a``) and that a judge could not tell
(``unsure``, ``skip``). Neither is a label. ``Yes`` and ``yes`` are one label. Whatever is left out or merged is said in
a note, and so is what merely looks odd.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Flags
from adjudge.data.scale import INVISIBLE, Label, number_of
from adjudge.errors import UsageError, option_with, quote, quoted

# What pandas and R write for a missing value; "none" and "na" in lower case are usually labels.
MISSING = (
    *("NaN", "nan", "-nan", "-NaN", "None", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "null", "NULL", "Null", "NaT"),
    *("#VALUE!", "#REF!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!"),  # errors of a spreadsheet
)
OFTEN_LABELS = ("None", "NA", "N/A", "n/a")  # of MISSING, those that may be a label, such as None, Mild, Severe
MAYBE_MISSING = ("none", "na", "n.a.", "nil", "missing", "blank", "empty", "undefined", "-", "--", "?", ".")
ABSTENTIONS = (
    *("unsure", "not sure", "i am not sure", "i'm not sure", "uncertain", "undecided", "skip", "skipped"),
    *("cannot tell", "can't tell", "cant tell", "cannot say", "can't say", "hard to say", "cannot decide", "abstain"),
    *(
        "don't know",
        "dont know",
        "do not know",
        "i don't know",
        "i dont know",
        "idk",
        "dunno",
        "no answer",
        "no opinion",
    ),
)
BOOLEANS: tuple[tuple[str, str], ...] = (("true", "false"), ("yes", "no"), ("1", "0"), ("t", "f"), ("y", "n"))
CONFIDENCES = ("confidence", "certainty", "label_confidence", "judge_confidence")  # names of columns
SCORES = 20  # more different numbers than this look like scores
MANY = 100_000  # names of items above which their spellings are not compared


class LabelValues(NamedTuple):
    """Which values of a column are left out of the judgments."""

    missing: Flags  # (V) by value
    abstention: Flags  # (V)

    @property
    def left_out(self) -> Flags:
        """The values that are no labels (V)."""
        return self.missing | self.abstention


class Spellings(NamedTuple):
    """Values that are spellings of one label."""

    label: list[Label]  # (V) the label of each value
    merged: list[list[Label]]  # the spellings of each label that has several

    @property
    def notes(self) -> tuple[str, ...]:
        """What was merged, by label."""
        return tuple(f"{quoted(each)} are read as one label, {quote(_tidy(each[0]))}" for each in self.merged)


def label_values(
    names: pl.Series,
    missing: Sequence[str] | None = None,
    abstain: Sequence[str] | None = None,
    labels: Iterable[object] = (),
) -> LabelValues:
    """Return which values of a column are missing values and which are abstentions.

    Parameters
    ----------
    names
        The different values of the column.
    missing
        The texts that mean that there is no label, in any case. By default those of ``MISSING``, as they are. A null,
        an empty text and NaN are missing in any case.
    abstain
        The texts that mean that the judge could not tell, in any case.
    labels
        The labels that the user gave: these are labels whatever they look like.

    Examples
    --------
    >>> label_values(pl.Series(["yes", "NaN", "Unsure", "none"]), abstain=["unsure"]).left_out.tolist()
    [False, True, True, False]
    """
    for option, value in (("missing", missing), ("abstain", abstain)):
        if isinstance(value, str):
            raise UsageError(f"{option} {value!r} is one text: give a list of texts")
    texts = ["" if name is None or name != name else str(name).translate(INVISIBLE).strip() for name in names]
    label_texts = {str(label) for label in labels}
    words = MISSING if missing is None else {word.strip().casefold() for word in missing}
    unsure = {word.strip().casefold() for word in abstain or ()}
    is_missing = [not t or (t not in label_texts and (t if missing is None else t.casefold()) in words) for t in texts]
    is_unsure = [text.casefold() in unsure for text in texts]
    return LabelValues(np.array(is_missing, bool), np.array(is_unsure, bool) & ~np.array(is_missing, bool))


def left_out_note(names: pl.Series, values: LabelValues, count: Codes, items: int, judges: int) -> str:
    """Return the note about judgments that are left out.

    ``count`` has the number of judgments with each value (V). ``items`` and ``judges`` have no other judgment.
    """
    parts, total = [], int(count.sum())
    if values.missing.any():
        texts = names.filter(pl.Series(values.missing)).to_list()
        words = [str(text) for text in texts if text is not None and text == text and str(text).strip()]
        examples = ", ".join([*(["empty"] if len(words) < len(texts) else []), *([quoted(words)] if words else [])])
        parts.append(f"{int(count[values.missing].sum()):,} of {total:,} judgments have no label ({examples})")
    if values.abstention.any():
        texts = names.filter(pl.Series(values.abstention)).to_list()
        parts.append(
            f"{int(count[values.abstention].sum()):,} of {total:,} judgments are abstentions ({quoted(texts)})"
        )
    note = f"{' and '.join(parts)}; they are left out"
    words = [str(name) for name in names.filter(pl.Series(values.missing)).to_list() if name in OFTEN_LABELS]
    if items or judges:
        lost = [f"{n:,} {noun}{'s' if n > 1 else ''}" for n, noun in ((items, "item"), (judges, "judge")) if n]
        note += f", and {' and '.join(lost)} without any other judgment"
    return f"{note}; if {quote(words[0])} is a label, give all labels with --labels" if words else note


def spellings(names: Sequence[Label], keep_case: bool = False) -> Spellings:
    """Return the label of each value: values that differ only in case, blanks or invisible characters are one label.

    A number that is written in several ways, such as 1 and 1.0, is one label too.

    Parameters
    ----------
    names
        The different values.
    keep_case
        Whether values in different case are different labels. Everything else is merged nevertheless.

    Examples
    --------
    >>> spellings(["Yes", "no", "yes", "YES "]).label
    ['Yes', 'no', 'Yes', 'Yes']
    """
    groups: dict[object, list[Label]] = {}
    keys = [spelling_key(name, keep_case) for name in names]
    for key, name in zip(keys, names, strict=True):
        groups.setdefault(key, []).append(name)
    first: dict[object, Label] = {key: _tidy(group[0]) for key, group in groups.items()}
    return Spellings([first[key] for key in keys], [group for group in groups.values() if len(group) > 1])


def spelling_key(name: Label, keep_case: bool = False) -> object:
    r"""Return what all spellings of a label have in common.

    >>> spelling_key("  Straße\u200b "), spelling_key("1.0") == spelling_key(1)
    ('strasse', True)
    """
    number = number_of(name)
    if number is not None and not isinstance(name, bool):
        return number
    if not isinstance(name, str):
        return name
    text = " ".join(unicodedata.normalize("NFKC", name.translate(INVISIBLE)).split())
    return text if keep_case else text.casefold()


def _tidy(name: Label) -> Label:
    """Return a label without blanks around it and without invisible characters."""
    return unicodedata.normalize("NFC", name.translate(INVISIBLE)).strip() if isinstance(name, str) else name


def odd_labels(labels: Sequence[Label], is_ordinal: bool = False) -> list[str]:
    """Return notes about labels that may not be what they look like.

    >>> odd_labels(["yes", "no", "skip"])
    ["label 'skip' looks like an abstention: --abstain skip leaves it out of the labels, and counts it by judge"]
    """
    notes = []
    texts = {str(label).casefold(): str(label) for label in labels}
    unsure = [texts[word] for word in texts if word.replace("\u2019", "'") in ABSTENTIONS]
    if unsure:
        looks, it = ("labels", "look like abstentions"), "them"
        if len(unsure) == 1:
            looks, it = ("label", "looks like an abstention"), "it"
        advice = f"{option_with('--abstain', unsure)} leaves {it} out of the labels, and counts {it} by judge"
        notes.append(f"{looks[0]} {quoted(unsure)} {looks[1]}: {advice}")
    blank = [texts[word] for word in texts if word in MAYBE_MISSING or texts[word] in MISSING]
    if blank:
        is_label = "is read as a label" if len(blank) == 1 else "are read as labels"
        advice = f"{option_with('--missing', blank)} leaves out these judgments"
        notes.append(f"{quoted(blank)} {is_label}; {advice}")
    numbers = [number for label in labels if (number := number_of(label)) is not None]
    if len(numbers) > SCORES and len(numbers) == len(labels) and not is_ordinal:
        notes.append(
            f"labels are {len(numbers):,} different numbers from {min(numbers):g} to {max(numbers):g}, which look like "
            "scores: models of labels treat each number as a class; adjudge scores estimates a number for every item"
        )
    families = [family for family in BOOLEANS if texts.keys() & {*family}]
    if 1 < len(numbers) < len(labels) and len(families) < 2:
        words = [str(label) for label in labels if number_of(label) is None]
        notes.append(f"labels are numbers, such as {quote(_first_number(labels))}, and words: {quoted(words)}")
    written = [str(label) for label in labels if number_of(label) is None and _looks_numeric(str(label))]
    if written:
        notes.append(
            f"{quoted(written)} {'is' if len(written) == 1 else 'are'} read as text, not as a number: write numbers "
            "with a decimal point, and without percent signs and thousands separators"
        )
    if len(families) > 1:
        alike = [texts[word] for family in families for word in family if word in texts]
        notes.append(f"labels {quoted(alike)} may say the same in several ways; they are kept apart: write them alike")
    return notes


def _first_number(labels: Sequence[Label]) -> Label:
    """Return the first label that is a number."""
    return next(label for label in labels if number_of(label) is not None)


def _looks_numeric(text: str) -> bool:
    """Whether a text is a number with a percent sign, a decimal comma, a thousands separator or a currency.

    >>> [_looks_numeric(text) for text in ("85%", "0,5", "1.000,5", "1 000", "a1", "2020-01-02")]
    [True, True, True, True, False, False]
    """
    plain = text.strip().strip("%\u20ac$\u00a3").strip()
    digits = plain.translate(dict.fromkeys(map(ord, "., \u00a0'")))
    return digits.lstrip("+-").isdecimal() and plain[-1:].isdecimal()


def odd_names(names: pl.Series, role: str) -> str:
    """Return a note about names of items or judges that are nearly the same, or that look missing; else empty.

    >>> odd_names(pl.Series(["Ann", "bob", "ann"]), "judge")
    "judges 'Ann', 'ann' differ only in case, blanks or how they are written; they are kept apart"
    """
    if names.dtype != pl.String or len(names) > MANY:
        return ""
    texts = names.to_list()
    blank = [text for text in texts if text in MISSING]
    if blank:
        return f"{quoted(blank)} is read as the name of one {role}; if the {role} is missing, remove these rows"
    plain = names.str.replace_all("[\u200b\u200c\u200d\u2060\ufeff\u00ad]", "").str.normalize("NFKC")
    plain = plain.str.strip_chars().str.to_lowercase()
    if plain.n_unique() == len(names):
        numbers = plain.filter(plain.str.contains(r"^[+-]?\d{1,12}(\.\d{1,3})?$")).cast(pl.Float64)
        if numbers.n_unique() == len(numbers):
            return ""
        number = pl.col("name").cast(pl.Float64, strict=False).cast(pl.String)
        plain = plain.to_frame("name").select(pl.coalesce(number, "name")).to_series()
    groups: dict[str, list[str]] = {}
    for key, text in zip(plain.to_list(), texts, strict=True):
        groups.setdefault(key, []).append(text)
    twins = [group for group in groups.values() if len(group) > 1]
    more = f" and {len(twins) - 1:,} more such groups" if len(twins) > 1 else ""
    which = f"{role}s {', '.join(quote(each) for each in twins[0])}{more}"
    return f"{which} differ only in case, blanks or how they are written; they are kept apart"


def confidence_note(columns: Sequence[str], roles: Mapping[str, str]) -> str:
    """Return a note about a column of confidences that is not used, empty if there is none."""
    free = {column.strip().lower(): column for column in columns if column not in roles.values()}
    column = next((free[name] for name in CONFIDENCES if name in free), None)
    if column is None or "weight" in roles:
        return ""
    return f"column {quote(column)} is not used; {option_with('--weight', column)} counts each judgment by it"
