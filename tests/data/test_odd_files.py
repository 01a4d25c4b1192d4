"""Odd files as people have them: each is read exactly, with a note about what may be wrong, or refused with the reason."""
# ruff: noqa: E501, RUF001, messages are compared in full, and names in many scripts are what is tested

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from adjudge.data.judgments import judgment_table
from adjudge.data.read import read
from adjudge.errors import AdjudgeError

H = "item,judge,label\n"
B = "a,x,yes\na,y,no\nb,x,no\nb,y,no\n"
LONG = "a" * 5000
PLAIN = "a x yes, a y no, b x no, b y no"  # how most files are read: item, judge and label


class Case(NamedTuple):
    """A file, the options with which it is read, and what must come out of it."""

    file: str
    content: bytes
    options: dict[str, Any]
    rows: str | int | None  # the judgments in the order of items, or only their number; None if the file is refused
    notes: list[str]  # in which @ is the name of the file
    error: str | None


CASES: dict[str, Case] = {}


def case(
    name: str,
    content: str | bytes,
    file: str = "labels.csv",
    rows: str | int = PLAIN,
    notes: list[str] | None = None,
    error: str | None = None,
    **options: Any,
) -> None:
    """Add a case."""
    assert name not in CASES
    data = content if isinstance(content, bytes) else content.encode()
    CASES[name] = Case(file, data, options, None if error else rows, notes or [], error)


def L(*labels: str) -> str:  # noqa: N802
    """Return a table of judgments with these labels."""
    pairs = [(item, judge) for item in "abc" for judge in "xy"]
    return H + "".join(f"{item},{judge},{label}\n" for (item, judge), label in zip(pairs, labels, strict=False))


case("plain", H + B)
case("UTF-8 with byte order mark", "\ufeff" + H + B)
case("UTF-16 little endian with mark", (H + B).encode("utf-16"))
case("UTF-16 big endian with mark", b"\xfe\xff" + (H + B).encode("utf-16-be"))
case("UTF-16 without mark", (H + B).encode("utf-16-le"))
case(
    "windows-1252 label",
    L("né", "ja", "né", "ja").encode("cp1252"),
    rows="a x né, a y ja, b x né, b y ja",
    notes=[
        "@, row 2: byte 0xe9 is not UTF-8, so the file is read as windows-1252; if names look wrong, save it as UTF-8"
    ],
)
case(
    "windows-1252 item",
    (H + "caf\u00e9,x,yes\ncaf\u00e9,y,no\n").encode("cp1252"),
    rows="café x yes, café y no",
    notes=[
        "@, row 2: byte 0xe9 is not UTF-8, so the file is read as windows-1252; if names look wrong, save it as UTF-8"
    ],
)
case(
    "UTF-8 judges in another script",
    H + "a,\u0410\u043d\u043d\u0430,yes\na,\u5f20\u4f1f,no\n",
    rows="a Анна yes, a 张伟 no",
)
case("emoji labels", L("\U0001f44d", "\U0001f44e", "\U0001f44d", "\U0001f44d"), rows="a x 👍, a y 👎, b x 👍, b y 👍")
case(
    "byte that is no text",
    (H + "a,x\x81,yes\n").encode("latin-1"),
    error="@, row 2: byte 0x81 is neither UTF-8 nor windows-1252 text; save the file as UTF-8",
)
case("NUL bytes", b"item,judge,label\na,x\x00\xff,yes\n", error="@: is not text: give CSV, TSV, JSON lines or Parquet")
case(
    "binary rubbish",
    bytes(range(128, 256)) * 3,
    error="@, row 1: byte 0x81 is neither UTF-8 nor windows-1252 text; save the file as UTF-8",
)
case("Windows line ends", (H + B).replace("\n", "\r\n"))
case("old Mac line ends", (H + B).replace("\n", "\r"))
case("no line end at the end", (H + B).rstrip("\n"))
case("blank lines", "\n\n" + H + "\n" + B.replace("\n", "\n\n"))
case(
    "lines of blanks",
    H + "a,x,yes\n   \na,y,no\n",
    rows="a x yes, a y no",
    notes=["@: 1 of 3 judgments have no label (empty); they are left out"],
)
case("lines of separators", H + "a,x,yes\n,,\na,y,no\n", rows="a x yes, a y no")
case("trailing separators", "item,judge,label,\na,x,yes,\na,y,no,\n", rows="a x yes, a y no")
case("semicolons", (H + B).replace(",", ";"))
case("tabs", (H + B).replace(",", "\t"))
case("tabs in .tsv", (H + B).replace(",", "\t"), "labels.tsv")
case("commas in .tsv", H + B, "labels.tsv")
case("vertical bars", (H + B).replace(",", "|"))
case(
    "blanks as separators",
    (H + B).replace(",", "  "),
    error="@: no column for the item (columns: 'item  judge  label'); usual names are item, task, doc, document, question, unit, docno, passage, instance, example, sample, or name it with item=; if the first row holds data, add a header above it",
)
case("quoted values", '"item","judge","label"\n"a","x","yes"\n"a","y","no"\n', rows="a x yes, a y no")
case("separator in a quoted value", H + '"a,1",x,yes\n"a,1",y,no\n', rows="a,1 x yes, a,1 y no")
case(
    "separator in a value without quotes",
    H + "a,1,x,yes\na,y,no\n",
    error="@, row 2: 4 values, expected 3 as in the header; a value that contains ',' needs quotation marks",
)
case("line break in a quoted value", H + '"a\nb",x,yes\n"a\nb",y,no\n', rows="a\nb x yes, a\nb y no")
case("doubled quotes", H + '"say ""hi""",x,yes\n"say ""hi""",y,no\n', rows='say "hi" x yes, say "hi" y no')
case("quote inside a value", H + 'a "b" c,x,yes\n', rows='a "b" c x yes')
case(
    "quote that is not closed",
    H + '"a,x,yes\na,y,no\n',
    error="@, row 2: a quotation mark is opened and not closed: put the whole value in quotation marks, and double those inside it",
)
case(
    "single quotes",
    "'item','judge','label'\n'a','x','yes'\n",
    error="@: no column for the item (columns: ''item'', ''judge'', ''label''); usual names are item, task, doc, document, question, unit, docno, passage, instance, example, sample, or name it with item=; if the first row holds data, add a header above it",
)
case("blanks after separators", "item, judge, label\na, x, yes\na, y, no\n", rows="a x yes, a y no")
case(
    "semicolons and decimal commas",
    "item;judge;label\na;x;0,5\na;y;1,5\nb;x;0,5\n",
    rows="a x 0,5, a y 1,5, b x 0,5",
    notes=[
        "@: '0,5', '1,5' are read as text, not as a number: write numbers with a decimal point, and without percent signs and thousands separators"
    ],
)
case("separator line of Excel", "sep=;\n" + (H + B).replace(",", ";"))
case(
    "comment lines",
    "# exported\n" + H + B,
    error="@, row 2: 3 values, expected 1 as in the header; a value that contains ',' needs quotation marks",
)
case(
    "row too long",
    H + B + "c,x,yes,extra\n",
    error="@, row 6: 4 values, expected 3 as in the header; a value that contains ',' needs quotation marks",
)
case(
    "row too short",
    H + B + "c,x\n",
    notes=["@: 1 of 5 judgments have no label (empty); they are left out, and 1 item without any other judgment"],
)
case(
    "row of one value",
    H + B + "c\n",
    notes=["@: 1 of 5 judgments have no label (empty); they are left out, and 1 item without any other judgment"],
)
case("empty file", "", error="@: the file is empty")
case("only blanks", "  \n \n", error="@: the file is empty")
case("header only", H, error="@: the file has a header but no rows")
case(
    "no header",
    B,
    error="@: no column for the item (columns: 'a', 'x', 'yes'); usual names are item, task, doc, document, question, unit, docno, passage, instance, example, sample, or name it with item=; if the first row holds data, add a header above it",
)
case("one row", H + "a,x,yes\n", rows="a x yes")
case("one judge", H + "a,x,yes\nb,x,no\n", rows="a x yes, b x no")
case("one item", H + "a,x,yes\na,y,no\n", rows="a x yes, a y no")
case("one label", L("yes", "yes", "yes", "yes"), rows="a x yes, a y yes, b x yes, b y yes")
case(
    "two columns of one name",
    "item,judge,label,label\na,x,yes,no\n",
    error="@, row 1: two columns are called 'label': rename one",
)
case(
    "two columns of one name with blanks",
    "item,judge,label, label \na,x,yes,no\n",
    error="@, row 1: two columns are called 'label': rename one",
)
case("header in capitals", "ITEM,JUDGE,LABEL\n" + B)
case("header with blanks", " item , judge , label \n" + B)
case("usual other names", "task_id,Worker ID,answer\n" + B)
case(
    "unknown names",
    "url,who,said\nu1,ann,yes\nu1,bob,no\n",
    error="@: no column for the item (columns: 'url', 'who', 'said'); usual names are item, task, doc, document, question, unit, docno, passage, instance, example, sample, or name it with item=; if the first row holds data, add a header above it",
)
case(
    "unknown names given",
    "url,who,said\nu1,ann,yes\nu1,bob,no\n",
    item="url",
    judge="who",
    label="said",
    rows="u1 ann yes, u1 bob no",
)
case(
    "two columns for the item",
    "item,task,judge,label\na,1,x,yes\na,1,y,no\n",
    error="@: 'item', 'task' could each be the item: choose one with item=",
)
case(
    "two columns for the label",
    "item,judge,label,rating\na,x,yes,5\na,y,no,3\n",
    error="@: 'label', 'rating' could each be the label: choose one with label=",
)
case("an unnamed index", ",item,judge,label\n0,a,x,yes\n1,a,y,no\n", rows="a x yes, a y no")
case(
    "column names as numbers",
    "0,1,2\na,x,yes\na,y,no\n",
    error="@: no column for the item (columns: '0', '1', '2'); usual names are item, task, doc, document, question, unit, docno, passage, instance, example, sample, or name it with item=; if the first row holds data, add a header above it",
)
case(
    "swapped columns by values",
    H + "w1,d1,yes\nw2,d1,no\nw1,d2,no\n",
    rows="w1 d1 yes, w1 d2 no, w2 d1 no",
    notes=[
        "@: items such as 'w1', 'w2' look like judges, and judges such as 'd1', 'd2' do not; if the columns are swapped, name both with item= and judge="
    ],
)
case("swapped columns by names", "judge,worker,label\na,x,yes\n", item="worker", judge="judge", rows="x a yes")
case(
    "swapped columns named",
    "item,worker,label\na,x,yes\n",
    item="worker",
    judge="item",
    error="@: item and judge look swapped: column 'worker' was named as the item and 'item' as the judge",
)
case("zero-width space in the header", "item,judge,\u200blabel\na,x,yes\na,y,no\n", rows="a x yes, a y no")
case("numbers as items", H + "1,x,yes\n1,y,no\n2,x,no\n", rows="1 x yes, 1 y no, 2 x no")
case(
    "items 1 and 1.0",
    H + "1,x,yes\n1.0,y,no\n2,x,no\n",
    rows="1 x yes, 1.0 y no, 2 x no",
    notes=["@: items '1', '1.0' differ only in case, blanks or how they are written; they are kept apart"],
)
case(
    "items 01 and 1",
    H + "01,x,yes\n1,y,no\n",
    rows="01 x yes, 1 y no",
    notes=["@: items '01', '1' differ only in case, blanks or how they are written; they are kept apart"],
)
case("items with leading zeros", H + "001,x,yes\n001,y,no\n002,x,yes\n", rows="001 x yes, 001 y no, 002 x yes")
case(
    "huge integers as items",
    H + "12345678901234567890123,x,yes\n12345678901234567890124,x,no\n12345678901234567890123,y,yes\n",
    rows="12345678901234567890123 x yes, 12345678901234567890123 y yes, 12345678901234567890124 x no",
)
case("numbers in scientific notation as items", H + "1E+05,x,yes\n1E+05,y,no\n", rows="1E+05 x yes, 1E+05 y no")
case(
    "dates as items",
    H + "2024-01-02,x,yes\n2024-01-02,y,no\n2024-01-03,x,no\n",
    rows="2024-01-02 x yes, 2024-01-02 y no, 2024-01-03 x no",
)
case("paths as items", H + "docs/a b.txt,x,yes\ndocs/a b.txt,y,no\n", rows="docs/a b.txt x yes, docs/a b.txt y no")
case(
    "judges in two cases",
    H + "a,Ann,yes\na,bob,no\nb,ann,no\n",
    rows="a Ann yes, a bob no, b ann no",
    notes=["@: judges 'Ann', 'ann' differ only in case, blanks or how they are written; they are kept apart"],
)
case(
    "items in two cases",
    H + "A,x,yes\na,y,no\n",
    rows="A x yes, a y no",
    notes=["@: items 'A', 'a' differ only in case, blanks or how they are written; they are kept apart"],
)
case("judge with trailing blank", H + "a,ann ,yes\na,bob,no\nb,ann,no\n", rows="a ann yes, a bob no, b ann no")
case(
    "judge with zero-width space",
    H + "a,ann\u200b,yes\na,bob,no\nb,ann,no\n",
    rows="a ann\u200b yes, a bob no, b ann no",
    notes=["@: judges 'ann\\u200b', 'ann' differ only in case, blanks or how they are written; they are kept apart"],
)
case("judge with no-break space", H + "a,ann\u00a0,yes\na,bob,no\nb,ann,no\n", rows="a ann yes, a bob no, b ann no")
case(
    "judge in two Unicode forms",
    H + "a,Zo\u00eb,yes\na,bob,no\nb,Zoe\u0308,no\n",
    rows="a Zoë yes, a bob no, b Zoë no",
    notes=["@: judges 'Zoë', 'Zoë' differ only in case, blanks or how they are written; they are kept apart"],
)
case(
    "item in two Unicode forms",
    H + "caf\u00e9,x,yes\ncafe\u0301,y,no\n",
    rows="café x yes, café y no",
    notes=["@: items 'café', 'café' differ only in case, blanks or how they are written; they are kept apart"],
)
case(
    "full-width digits as items",
    H + "\uff11,x,yes\n1,y,no\n",
    rows="１ x yes, 1 y no",
    notes=["@: items '１', '1' differ only in case, blanks or how they are written; they are kept apart"],
)
case(
    "judge called NaN",
    H + "a,x,yes\na,NaN,no\n",
    rows="a x yes, a NaN no",
    notes=["@: 'NaN' is read as the name of one judge; if the judge is missing, remove these rows"],
)
case(
    "judge called None",
    H + "a,x,yes\na,None,no\n",
    rows="a x yes, a None no",
    notes=["@: 'None' is read as the name of one judge; if the judge is missing, remove these rows"],
)
case(
    "item called NA",
    H + "NA,x,yes\nNA,y,no\nDE,x,no\n",
    rows="NA x yes, NA y no, DE x no",
    notes=["@: 'NA' is read as the name of one item; if the item is missing, remove these rows"],
)
case("empty judge", H + "a,x,yes\na,,no\n", error="@, row 3: the judge (column 'judge') is empty")
case("empty item", H + "a,x,yes\n,y,no\n", error="@, row 3: the item (column 'item') is empty")
case(
    "empty judge without a label",
    H + "a,x,yes\na,y,no\nb,,\n",
    rows="a x yes, a y no",
    notes=["@: 1 of 3 judgments have no label (empty); they are left out, and 1 item without any other judgment"],
)
case(
    "very long item",
    H + "a" * 5000 + ",x,yes\n" + "a" * 5000 + ",y,no\n",
    rows=", ".join(f"{LONG} {judge}" for judge in ("x yes", "y no")),
)
case("formulas", H + "=1+1,x,yes\n=1+1,y,no\n", rows="=1+1 x yes, =1+1 y no")
case("HTML", H + "<b>a</b>,x,yes\n<b>a</b>,y,no\n", rows="<b>a</b> x yes, <b>a</b> y no")
case(
    "missing label ''",
    L("yes", "", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label (empty); they are left out"],
)
case(
    "missing label 'NaN'",
    L("yes", "NaN", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label ('NaN'); they are left out"],
)
case(
    "missing label 'nan'",
    L("yes", "nan", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label ('nan'); they are left out"],
)
case(
    "missing label 'None'",
    L("yes", "None", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=[
        "@: 1 of 4 judgments have no label ('None'); they are left out; if 'None' is a label, give all labels with labels="
    ],
)
case(
    "missing label 'NA'",
    L("yes", "NA", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=[
        "@: 1 of 4 judgments have no label ('NA'); they are left out; if 'NA' is a label, give all labels with labels="
    ],
)
case(
    "missing label 'N/A'",
    L("yes", "N/A", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=[
        "@: 1 of 4 judgments have no label ('N/A'); they are left out; if 'N/A' is a label, give all labels with labels="
    ],
)
case(
    "missing label 'n/a'",
    L("yes", "n/a", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=[
        "@: 1 of 4 judgments have no label ('n/a'); they are left out; if 'n/a' is a label, give all labels with labels="
    ],
)
case(
    "missing label 'null'",
    L("yes", "null", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label ('null'); they are left out"],
)
case(
    "missing label 'NULL'",
    L("yes", "NULL", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label ('NULL'); they are left out"],
)
case(
    "missing label '<NA>'",
    L("yes", "<NA>", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label ('<NA>'); they are left out"],
)
case(
    "missing label '#N/A'",
    L("yes", "#N/A", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label ('#N/A'); they are left out"],
)
case(
    "missing label '#VALUE!'",
    L("yes", "#VALUE!", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label ('#VALUE!'); they are left out"],
)
case(
    "missing label '#DIV/0!'",
    L("yes", "#DIV/0!", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label ('#DIV/0!'); they are left out"],
)
case(
    "missing label '#REF!'",
    L("yes", "#REF!", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label ('#REF!'); they are left out"],
)
case(
    "missing label 'NaT'",
    L("yes", "NaT", "no", "yes"),
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label ('NaT'); they are left out"],
)
case(
    "label 'none'",
    L("yes", "none", "no", "yes"),
    rows="a x yes, a y none, b x no, b y yes",
    notes=["@: 'none' is read as a label; missing=['none'] leaves out these judgments"],
)
case(
    "label 'na'",
    L("yes", "na", "no", "yes"),
    rows="a x yes, a y na, b x no, b y yes",
    notes=["@: 'na' is read as a label; missing=['na'] leaves out these judgments"],
)
case(
    "label '-'",
    L("yes", "-", "no", "yes"),
    rows="a x yes, a y -, b x no, b y yes",
    notes=["@: '-' is read as a label; missing=['-'] leaves out these judgments"],
)
case(
    "label '?'",
    L("yes", "?", "no", "yes"),
    rows="a x yes, a y ?, b x no, b y yes",
    notes=["@: '?' is read as a label; missing=['?'] leaves out these judgments"],
)
case(
    "label '.'",
    L("yes", ".", "no", "yes"),
    rows="a x yes, a y ., b x no, b y yes",
    notes=["@: '.' is read as a label; missing=['.'] leaves out these judgments"],
)
case(
    "label 'missing'",
    L("yes", "missing", "no", "yes"),
    rows="a x yes, a y missing, b x no, b y yes",
    notes=["@: 'missing' is read as a label; missing=['missing'] leaves out these judgments"],
)
case(
    "several kinds of missing labels",
    L("yes", "NaN", "", "null", "no", "n/a"),
    rows="a x yes, c x no",
    notes=[
        "@: 4 of 6 judgments have no label (empty, 'NaN', 'null', 'n/a'); they are left out, and 1 item and 1 judge without any other judgment; if 'n/a' is a label, give all labels with labels="
    ],
)
case("all labels missing", L("NaN", "", "NA", "None"), error="@, row 2: every label is missing (column 'label')")
case(
    "missing labels kept",
    L("yes", "None", "no", "yes"),
    missing=[],
    rows="a x yes, a y None, b x no, b y yes",
    notes=["@: 'None' is read as a label; missing=['None'] leaves out these judgments"],
)
case(
    "missing labels of one's own",
    L("yes", "-", "no", "N/A"),
    missing=["-"],
    rows="a x yes, b x no, b y N/A",
    notes=[
        "@: 1 of 4 judgments have no label ('-'); they are left out",
        "@: 'N/A' is read as a label; missing=['N/A'] leaves out these judgments",
    ],
)
case(
    "missing labels of one's own in another case",
    L("yes", "Blank", "no", "yes"),
    missing=["blank"],
    rows="a x yes, b x no, b y yes",
    notes=["@: 1 of 4 judgments have no label ('Blank'); they are left out"],
)
case(
    "None as a label that is given",
    L("None", "Mild", "Severe", "Mild"),
    labels=["None", "Mild", "Severe"],
    rows="a x None, a y Mild, b x Severe, b y Mild",
)
case(
    "None, Mild, Severe",
    L("None", "Mild", "Severe", "Mild"),
    rows="a y Mild, b x Severe, b y Mild",
    notes=[
        "@: 1 of 4 judgments have no label ('None'); they are left out; if 'None' is a label, give all labels with labels="
    ],
)
case(
    "none, mild, severe",
    L("none", "mild", "severe", "mild"),
    rows="a x none, a y mild, b x severe, b y mild",
    notes=["@: 'none' is read as a label; missing=['none'] leaves out these judgments"],
)
case(
    "item without any label",
    H + "a,x,yes\na,y,no\nb,x,\nb,y,NaN\n",
    rows="a x yes, a y no",
    notes=[
        "@: 2 of 4 judgments have no label (empty, 'NaN'); they are left out, and 1 item without any other judgment"
    ],
)
case(
    "judge without any label",
    H + "a,x,yes\na,y,\nb,x,no\nb,y,\n",
    rows="a x yes, b x no",
    notes=["@: 2 of 4 judgments have no label (empty); they are left out, and 1 judge without any other judgment"],
)
case(
    "missing label in JSON lines",
    '{"item":"a","judge":"x","label":"yes"}\n{"item":"a","judge":"y","label":null}\n{"item":"b","judge":"y"}\n',
    "labels.jsonl",
    rows="a x yes",
    notes=[
        "@: 2 of 3 judgments have no label (empty); they are left out, and 1 item and 1 judge without any other judgment"
    ],
)
case(
    "NaN in a JSON array",
    '[{"item":"a","judge":"x","label":"yes"},{"item":"a","judge":"y","label":NaN}]',
    "labels.json",
    rows="a x yes",
    notes=["@: 1 of 2 judgments have no label (empty); they are left out, and 1 judge without any other judgment"],
)
case(
    "labels in three cases",
    L("Yes", "yes", "YES", "no"),
    rows="a x Yes, a y Yes, b x Yes, b y no",
    notes=["@: 'Yes', 'yes', 'YES' are read as one label, 'Yes' (keep_case=True keeps labels in different case apart)"],
)
case(
    "labels in three cases kept apart",
    L("Yes", "yes", "YES", "no"),
    keep_case=True,
    rows="a x Yes, a y yes, b x YES, b y no",
)
case("labels with blanks", L(" yes", "yes ", "yes", "no"), rows="a x yes, a y yes, b x yes, b y no")
case(
    "labels with two blanks inside",
    L("very good", "very  good", "bad", "bad"),
    rows="a x very good, a y very good, b x bad, b y bad",
    notes=["@: 'very good', 'very  good' are read as one label, 'very good'"],
)
case(
    "labels with no-break spaces",
    L("very good", "very\u00a0good", "bad", "bad"),
    rows="a x very good, a y very good, b x bad, b y bad",
    notes=["@: 'very good', 'very\\xa0good' are read as one label, 'very good'"],
)
case(
    "labels with zero-width spaces",
    L("yes", "yes\u200b", "no", "no"),
    rows="a x yes, a y yes, b x no, b y no",
    notes=["@: 'yes', 'yes\\u200b' are read as one label, 'yes'"],
)
case(
    "labels in two Unicode forms",
    L("d\u00e9j\u00e0", "de\u0301ja\u0300", "non", "non"),
    rows="a x déjà, a y déjà, b x non, b y non",
    notes=["@: 'déjà', 'déjà' are read as one label, 'déjà'"],
)
case(
    "labels with a soft hyphen",
    L("rele\u00advant", "relevant", "no", "no"),
    rows="a x relevant, a y relevant, b x no, b y no",
    notes=["@: 'rele\\xadvant', 'relevant' are read as one label, 'relevant'"],
)
case(
    "labels in full width",
    L("\uff39\uff25\uff33", "yes", "no", "no"),
    rows="a x ＹＥＳ, a y ＹＥＳ, b x no, b y no",
    notes=["@: 'ＹＥＳ', 'yes' are read as one label, 'ＹＥＳ' (keep_case=True keeps labels in different case apart)"],
)
case("labels with a dotless i", L("\u0130yi", "iyi", "kotu", "kotu"), rows="a x İyi, a y iyi, b x kotu, b y kotu")
case(
    "labels on a scale in another case",
    L("Yes", "no", "NO", "yes"),
    labels=["no", "yes"],
    rows="a x yes, a y no, b x no, b y yes",
    notes=[
        "@: 'Yes' is read as the label 'yes'; 'NO' is read as the label 'no' (keep_case=True keeps labels in different case apart)"
    ],
)
case(
    "labels that differ in case on a given scale",
    L("A", "a", "b", "B"),
    labels=["a", "A", "b", "B"],
    rows="a x A, a y a, b x b, b y B",
)
case(
    "a label that is not on the scale",
    L("yes", "no", "maybe", "yes"),
    labels=["no", "yes"],
    error="@, row 4: label 'maybe' is not one of 'no', 'yes' (give labels= to extend the scale)",
)
case("labels that are alike but not the same", L("yes", "yes!", "no", "no"), rows="a x yes, a y yes!, b x no, b y no")
case(
    "labels 1 and 1.0",
    L("1", "1.0", "0", "0.0"),
    rows="a x 1, a y 1, b x 0, b y 0",
    notes=["@: '1', '1.0' are read as one label, '1'; '0', '0.0' are read as one label, '0'"],
)
case(
    "labels 1 and 01",
    L("1", "01", "0", "0"),
    rows="a x 1, a y 1, b x 0, b y 0",
    notes=["@: '1', '01' are read as one label, '1'"],
)
case("labels 0 and 1", L("1", "0", "0", "1"), rows="a x 1, a y 0, b x 0, b y 1")
case("labels 1.0 and 0.0", L("1.0", "0.0", "0.0", "1.0"), rows="a x 1.0, a y 0.0, b x 0.0, b y 1.0")
case("stars", L("5", "4", "3", "5"), ordinal=True, rows="a x 5, a y 4, b x 3, b y 5")
case("negative labels", L("-1", "0", "1", "1"), ordinal=True, rows="a x -1, a y 0, b x 1, b y 1")
case("labels 9 and 10", L("9", "10", "9", "10"), ordinal=True, rows="a x 9, a y 10, b x 9, b y 10")
case(
    "percentages",
    L("85%", "90%", "85%", "10%"),
    rows="a x 85%, a y 90%, b x 85%, b y 10%",
    notes=[
        "@: '10%', '85%', '90%' are read as text, not as a number: write numbers with a decimal point, and without percent signs and thousands separators"
    ],
)
case(
    "decimal commas",
    'item,judge,label\na,x,"0,5"\na,y,"0,7"\nb,x,"0,5"\n',
    rows="a x 0,5, a y 0,7, b x 0,5",
    notes=[
        "@: '0,5', '0,7' are read as text, not as a number: write numbers with a decimal point, and without percent signs and thousands separators"
    ],
)
case(
    "thousands separators",
    'item,judge,label\na,x,"1,000"\na,y,"2,000"\nb,x,"1,000"\n',
    rows="a x 1,000, a y 2,000, b x 1,000",
    notes=[
        "@: '1,000', '2,000' are read as text, not as a number: write numbers with a decimal point, and without percent signs and thousands separators"
    ],
)
case(
    "currency",
    L("$5", "$7", "$5", "$7"),
    rows="a x $5, a y $7, b x $5, b y $7",
    notes=[
        "@: '$5', '$7' are read as text, not as a number: write numbers with a decimal point, and without percent signs and thousands separators"
    ],
)
case("infinity as a label", L("inf", "1", "2", "1"), rows="a x inf, a y 1, b x 2, b y 1")
case(
    "numbers and words",
    L("1", "2", "bad", "1"),
    rows="a x 1, a y 2, b x bad, b y 1",
    notes=["@: labels are numbers, such as '1', and words: 'bad'"],
)
case("fractions", L("1/2", "1/3", "1/2", "1/3"), rows="a x 1/2, a y 1/3, b x 1/2, b y 1/3")
case(
    "huge integers as labels",
    L("12345678901234567890", "1", "1", "1"),
    rows="a x 12345678901234567890, a y 1, b x 1, b y 1",
)
case(
    "25 scores",
    H + "".join(f"i{n},x,{n / 10}\ni{n},y,{n / 10}\n" for n in range(1, 26)),
    rows=50,
    notes=[
        "@: labels are 25 different numbers from 0.1 to 2.5, which look like scores: models of labels treat each number as a class; adjudge scores estimates a number for every item"
    ],
)
case("25 scores in order", H + "".join(f"i{n},x,{n / 10}\n" for n in range(1, 26)), ordinal=True, rows=25)
case(
    "101 whole scores",
    H + "".join(f"i{n},x,{n}\ni{n},y,{100 - n}\n" for n in range(101)),
    rows=202,
    notes=[
        "@: labels are 101 different numbers from 0 to 100, which look like scores: models of labels treat each number as a class; adjudge scores estimates a number for every item"
    ],
)
case("20 grades", H + "".join(f"i{n},x,{n}\n" for n in range(20)), rows=20)
case("True and False", L("True", "False", "True", "False"), rows="a x True, a y False, b x True, b y False")
case(
    "TRUE and true",
    L("TRUE", "true", "FALSE", "false"),
    rows="a x TRUE, a y TRUE, b x FALSE, b y FALSE",
    notes=[
        "@: 'TRUE', 'true' are read as one label, 'TRUE'; 'FALSE', 'false' are read as one label, 'FALSE' (keep_case=True keeps labels in different case apart)"
    ],
)
case(
    "True, 1 and yes",
    L("True", "1", "yes", "no"),
    rows="a x True, a y 1, b x yes, b y no",
    notes=[
        "@: labels 'True', 'yes', 'no', '1' may say the same in several ways; they are kept apart: write them alike"
    ],
)
case(
    "Y and N and yes",
    L("Y", "N", "yes", "no"),
    rows="a x Y, a y N, b x yes, b y no",
    notes=["@: labels 'yes', 'no', 'Y', 'N' may say the same in several ways; they are kept apart: write them alike"],
)
case(
    "booleans in JSON",
    '[{"item":"a","judge":"x","label":true},{"item":"a","judge":"y","label":false}]',
    "labels.json",
    rows="a x True, a y False",
)
case(
    "booleans and numbers in JSON",
    '[{"item":"a","judge":"x","label":true},{"item":"a","judge":"y","label":0}]',
    "labels.json",
    rows="a x True, a y 0",
    notes=["@: labels 'True', '0' may say the same in several ways; they are kept apart: write them alike"],
)
case(
    "numbers and texts in JSON",
    '[{"item":1,"judge":"x","label":1},{"item":"1","judge":"y","label":"1"}]',
    "labels.json",
    rows="1 x 1, 1 y 1",
)
case(
    "label 'unsure'",
    L("yes", "unsure", "no", "yes"),
    rows="a x yes, a y unsure, b x no, b y yes",
    notes=[
        "@: label 'unsure' looks like an abstention: abstain=['unsure'] leaves it out of the labels, and counts it by judge"
    ],
)
case(
    "label 'skip'",
    L("yes", "skip", "no", "yes"),
    rows="a x yes, a y skip, b x no, b y yes",
    notes=[
        "@: label 'skip' looks like an abstention: abstain=['skip'] leaves it out of the labels, and counts it by judge"
    ],
)
case(
    "label 'cannot tell'",
    L("yes", "cannot tell", "no", "yes"),
    rows="a x yes, a y cannot tell, b x no, b y yes",
    notes=[
        "@: label 'cannot tell' looks like an abstention: abstain=['cannot tell'] leaves it out of the labels, and counts it by judge"
    ],
)
case(
    'label "Don\'t know"',
    L("yes", "Don't know", "no", "yes"),
    rows="a x yes, a y Don't know, b x no, b y yes",
    notes=[
        "@: label 'Don't know' looks like an abstention: abstain=[\"Don't know\"] leaves it out of the labels, and counts it by judge"
    ],
)
case(
    "label 'IDK'",
    L("yes", "IDK", "no", "yes"),
    rows="a x yes, a y IDK, b x no, b y yes",
    notes=[
        "@: label 'IDK' looks like an abstention: abstain=['IDK'] leaves it out of the labels, and counts it by judge"
    ],
)
case(
    "abstentions",
    L("yes", "unsure", "no", "skip", "yes", "no"),
    abstain=["unsure", "skip"],
    rows="a x yes, b x no, c x yes, c y no",
)
case(
    "abstentions in another case", L("yes", "Unsure", "no", "yes"), abstain=["unsure"], rows="a x yes, b x no, b y yes"
)
case(
    "abstentions only",
    L("unsure", "unsure"),
    abstain=["unsure"],
    error="@, row 2: no judgment has a label: all are abstentions (column 'label')",
)
case(
    "an abstention that nobody gave",
    L("yes", "no", "no", "yes"),
    abstain=["unsur"],
    rows="a x yes, a y no, b x no, b y yes",
    notes=["@: no judgment has the label 'unsur' of abstain="],
)
case(
    "a judge who only abstains",
    H + "a,x,yes\na,y,skip\nb,x,no\nb,y,skip\n",
    abstain=["skip"],
    rows="a x yes, b x no",
    notes=["@: 2 of 4 judgments are abstentions ('skip'); they are left out, and 1 judge without any other judgment"],
)
case(
    "confidence",
    "item,judge,label,confidence\na,x,yes,0.9\na,y,no,0.4\n",
    rows="a x yes, a y no",
    notes=["@: column 'confidence' is not used; weight='confidence' counts each judgment by it"],
)
case(
    "confidence as weight",
    "item,judge,label,confidence\na,x,yes,0.9\na,y,no,0.4\n",
    weight="confidence",
    rows="a x yes, a y no",
)
case("gold in a column", "item,judge,label,gold\na,x,yes,yes\na,y,no,yes\n", rows="a x yes, a y no")
case(
    "weight that is no number",
    "item,judge,label,weight\na,x,yes,high\n",
    error="@, row 2: weight 'high' is not a finite number of at least 0",
)
case(
    "negative weight",
    "item,judge,label,weight\na,x,yes,-1\n",
    error="@, row 2: weight '-1' is not a finite number of at least 0",
)
case("repeats", H + "a,x,yes\na,x,no\na,x,yes\n", rows="a x yes, a x no, a x yes")
case(
    "topics",
    "topic,doc,judge,label\nt1,a,x,yes\nt2,a,x,no\n",
    rows="t1_a x yes, t2_a x no",
    notes=["@, row 3: an item is in several topics, so items are called topic_item, such as 't2_a'"],
)
case(
    "wide",
    "item,ann,bob\n1,yes,no\n2,no,no\n",
    rows="1 ann yes, 1 bob no, 2 ann no, 2 bob no",
    notes=["@: every row is read as an item, and 2 columns as judges ('ann', 'bob')"],
)
case(
    "wide with empty cells",
    "item,ann,bob\n1,yes,\n2,,no\n3,no,yes\n",
    rows="1 ann yes, 2 bob no, 3 ann no, 3 bob yes",
    notes=["@: every row is read as an item, and 2 columns as judges ('ann', 'bob')"],
)
case(
    "wide with NaN",
    "item,ann,bob\n1,yes,NaN\n2,no,no\n",
    rows="1 ann yes, 2 ann no, 2 bob no",
    notes=[
        "@: every row is read as an item, and 2 columns as judges ('ann', 'bob')",
        "@: 1 of 4 judgments have no label ('NaN'); they are left out",
    ],
)
case(
    "wide without items",
    "ann,bob\nyes,no\nno,no\nno,yes\n",
    rows="1 ann yes, 1 bob no, 2 ann no, 2 bob no, 3 ann no, 3 bob yes",
    notes=["@: every row is read as an item, and 2 columns as judges ('ann', 'bob')"],
)
case(
    "wide with an unnamed index",
    ",ann,bob\n0,1,0\n1,0,0\n2,1,1\n",
    rows="0 ann 1, 0 bob 0, 1 ann 0, 1 bob 0, 2 ann 1, 2 bob 1",
    notes=["@: every row is read as an item, and 2 columns as judges ('ann', 'bob')"],
)
case(
    "wide with texts",
    "item,text,ann,bob\n1,what a day,yes,no\n2,oh no,no,no\n",
    rows="1 ann yes, 1 bob no, 2 ann no, 2 bob no",
    notes=[
        "@: every row is read as an item, and 2 columns as judges ('ann', 'bob'); column 'text' has no label in common with the others, and no judgment is read there"
    ],
)
case(
    "wide with gold",
    "item,gold,ann,bob\n1,yes,yes,no\n2,no,no,no\n",
    rows="1 ann yes, 1 bob no, 2 ann no, 2 bob no",
    notes=[
        "@: every row is read as an item, and 2 columns as judges ('ann', 'bob'); column 'gold' is not read as a judge: it looks like a truth"
    ],
)
case(
    "wide of numbers",
    "item,r1,r2,r3\n1,5,4,5\n2,3,3,2\n",
    rows="1 r1 5, 1 r2 4, 1 r3 5, 2 r1 3, 2 r2 3, 2 r3 2",
    notes=["@: every row is read as an item, and 3 columns as judges ('r1', 'r2', 'r3')"],
)
case(
    "wide with one judge",
    "item,ann\n1,yes\n2,no\n",
    error="@: no column for the judge (columns: 'item', 'ann'); usual names are judge, worker, annotator, coder, rater, user, participant, prolific_pid, assessor, labeler, labeller, reviewer, evaluator, grader, or name it with judge=; if every other column is a judge, give format='wide'",
)
case(
    "wide with one judge, said so",
    "item,ann\n1,yes\n2,no\n",
    format="wide",
    rows="1 ann yes, 2 ann no",
    notes=["@: every row is read as an item, and 1 column as judges ('ann')"],
)
case(
    "wide, transposed",
    "worker,q1,q2,q3\nann,yes,no,no\nbob,no,no,yes\n",
    rows="q1 ann yes, q1 bob no, q2 ann no, q2 bob no, q3 ann no, q3 bob yes",
    notes=["@: every row is read as a judge, and 3 columns as items ('q1', 'q2', 'q3')"],
)
case(
    "wide in JSON",
    '[{"id":"q1","ann":"yes","bob":"no"},{"id":"q2","ann":"no"}]',
    "labels.json",
    rows="q1 ann yes, q1 bob no, q2 ann no",
    notes=["@: every row is read as an item, and 2 columns as judges ('ann', 'bob')"],
)
case(
    "wide with columns that share no label",
    "item,age,city\n1,31,Rome\n2,42,Oslo\n",
    error="@: no column for the judge (columns: 'item', 'age', 'city'); usual names are judge, worker, annotator, coder, rater, user, participant, prolific_pid, assessor, labeler, labeller, reviewer, evaluator, grader, or name it with judge=; if every other column is a judge, give format='wide'",
)
case(
    "JSON lines",
    '{"item":"a","judge":"x","label":"yes"}\n{"item":"a","judge":"y","label":"no"}\n',
    "labels.jsonl",
    rows="a x yes, a y no",
)
case(
    "JSON lines called .json",
    '{"item":"a","judge":"x","label":"yes"}\n{"item":"a","judge":"y","label":"no"}\n',
    "labels.json",
    rows="a x yes, a y no",
)
case(
    "a JSON array",
    '[{"item":"a","judge":"x","label":"yes"},{"item":"a","judge":"y","label":"no"}]',
    "labels.json",
    rows="a x yes, a y no",
)
case(
    "a JSON array over lines",
    json.dumps([{"item": "a", "judge": "x", "label": "yes"}, {"item": "a", "judge": "y", "label": "no"}], indent=2),
    "labels.json",
    rows="a x yes, a y no",
)
case(
    "a JSON array called .txt",
    '[{"item":"a","judge":"x","label":"yes"},{"item":"a","judge":"y","label":"no"}]',
    "labels.txt",
    rows="a x yes, a y no",
)
case("a JSON array of rows", '[["a","x","yes"],["a","y","no"]]', "labels.json", rows="a x yes, a y no")
case(
    "a JSON array of rows of two",
    '[["a","x"],["a","y"]]',
    "labels.json",
    error="@, row 1: a row has 2 values, expected three: item, judge, label",
)
case(
    "a JSON array of numbers",
    "[1,2,3]",
    "labels.json",
    error="@, row 1: a row has int, expected three: item, judge, label",
)
case("an empty JSON array", "[]", "labels.json", error="@: holds no rows")
case(
    "JSON by item and judge", '{"a":{"x":"yes","y":"no"},"b":{"x":"no"}}', "labels.json", rows="a x yes, a y no, b x no"
)
case(
    "JSON by column", '{"item":["a","a"],"judge":["x","y"],"label":["yes","no"]}', "labels.json", rows="a x yes, a y no"
)
case(
    "JSON by column of different lengths",
    '{"item":["a","a"],"judge":["x"],"label":["yes","no"]}',
    "labels.json",
    error="@: the columns have different lengths: 'item' 2, 'judge' 1, 'label' 2",
)
case(
    "JSON as pandas writes it",
    '{"item":{"0":"a","1":"a"},"judge":{"0":"x","1":"y"},"label":{"0":"yes","1":"no"}}',
    "labels.json",
    rows="a x yes, a y no",
)
case("one JSON object", '{"item":"a","judge":"x","label":"yes"}', "labels.json", rows="a x yes")
case(
    "a JSON text",
    '"hello"',
    "labels.json",
    error="@, row 1: is JSON but not an object with named values; give one object per line",
)
case(
    "broken JSON",
    '[{"item":"a",',
    "labels.json",
    error="@, row 1: is not JSON (Expecting property name enclosed in double quotes)",
)
case(
    "a JSON line that is broken",
    '{"item":"a","judge":"x","label":"yes"}\n{"item":"a"\n',
    "labels.jsonl",
    error="@, row 2: is not JSON (Expecting ',' delimiter); give one object per line",
)
case(
    "a list as a label",
    '{"item":"a","judge":"x","label":["yes","no"]}\n',
    "labels.jsonl",
    error="@: column 'label' holds lists, records or objects, not one label per row",
)
case(
    "lists in some labels",
    '{"item":"a","judge":"x","label":"yes"}\n{"item":"a","judge":"y","label":["no"]}\n',
    "labels.jsonl",
    error="@, row 2: 'label' holds a list or record in some rows and not in others",
)
case(
    "YAML",
    "- item: a\n  judge: x\n  label: yes\n",
    error="@: no column for the item (columns: '- item: a'); usual names are item, task, doc, document, question, unit, docno, passage, instance, example, sample, or name it with item=; if the first row holds data, add a header above it",
)
case("XML", "<rows><row item='a'/></rows>", error="@: the file has a header but no rows")
case("Markdown", "| item | judge | label |\n|---|---|---|\n| a | x | yes |\n| a | y | no |\n", rows="a x yes, a y no")
case(
    "CSV called .json", H + B, "labels.json", error="@, row 1: is not JSON (Expecting value); give one object per line"
)
case("CSV called .parquet", H + B, "labels.parquet", error="@: is not a Parquet file")
case("CSV called .xlsx", H + B, "labels.xlsx", error="@: is not an Excel workbook")
case("CSV called .arrow", H + B, "labels.arrow", error="@: is not an Arrow file")
case("CSV without an ending", H + B, "labels")
case(
    "Markdown with bars at the sides only in the header",
    "item|judge|label\n---|:---:|---\na|x|yes\na|y|no\n",
    rows="a x yes, a y no",
)
case(
    "a label of dashes",
    L("--", "yes", "no", "--"),
    rows="a x --, a y yes, b x no, b y --",
    notes=["@: '--' is read as a label; missing=['--'] leaves out these judgments"],
)
case(
    "TRUE with a blank and true",
    L("TRUE ", "true", "False", "false"),
    rows="a x TRUE, a y TRUE, b x False, b y False",
    notes=[
        "@: 'TRUE', 'true' are read as one label, 'TRUE'; 'False', 'false' are read as one label, 'False' (keep_case=True keeps labels in different case apart)"
    ],
)
case(
    "Excel date numbers as items",
    H + "45000,x,yes\n45000,y,no\n45001,x,no\n",
    rows="45000 x yes, 45000 y no, 45001 x no",
)
case("times as items", H + "10:30,x,yes\n10:30,y,no\n", rows="10:30 x yes, 10:30 y no")
case(
    "labels over two lines",
    H + 'a,x,"very\ngood"\na,y,very good\n',
    rows="a x very\ngood, a y very\ngood",
    notes=["@: 'very\\ngood', 'very good' are read as one label, 'very\\ngood'"],
)
case(
    "tab inside a label",
    H + "a,x,very\tgood\na,y,very good\n",
    rows="a x very\tgood, a y very\tgood",
    notes=["@: 'very\\tgood', 'very good' are read as one label, 'very\\tgood'"],
)
case(
    "judges as numbers and texts",
    H + "a,1,yes\na,1.0,no\nb,2,yes\n",
    rows="a 1 yes, a 1.0 no, b 2 yes",
    notes=["@: judges '1', '1.0' differ only in case, blanks or how they are written; they are kept apart"],
)
case(
    "label column all numbers but one missing",
    L("1", "2", "NaN", "1"),
    ordinal=True,
    rows="a x 1, a y 2, b y 1",
    notes=["@: 1 of 4 judgments have no label ('NaN'); they are left out"],
)
case(
    "ordinal words without an order",
    L("low", "high", "low", "high"),
    ordinal=True,
    error="the order of the labels 'high', 'low' is not known: give it, lowest first, with labels=",
)
case(
    "values for labels",
    L("bad", "good", "bad", "good"),
    values={"bad": 0, "good": 3},
    rows="a x bad, a y good, b x bad, b y good",
)
case(
    "Windows text with smart quotes",
    L("\u201cyes\u201d", "no", "no", "no").encode("cp1252"),
    rows="a x “yes”, a y no, b x no, b y no",
    notes=[
        "@, row 2: byte 0x93 is not UTF-8, so the file is read as windows-1252; if names look wrong, save it as UTF-8"
    ],
)
case(
    "question mark in the header",
    "item?,judge,label\na,x,yes\n",
    error="@: no column for the item (columns: 'item?', 'judge', 'label'); usual names are item, task, doc, document, question, unit, docno, passage, instance, example, sample, or name it with item=",
)
case(
    "lower-case id columns",
    "id,judge,label\na,x,yes\n",
    error="@: no column for the item (columns: 'id', 'judge', 'label'); usual names are item, task, doc, document, question, unit, docno, passage, instance, example, sample, or name it with item=",
)
case(
    "wide of scores by models",
    "question,gpt-4,claude,gold\nq1,1,1,1\nq2,0,1,0\n",
    rows="q1 gpt-4 1, q1 claude 1, q2 gpt-4 0, q2 claude 1",
    notes=[
        "@: every row is read as an item, and 2 columns as judges ('gpt-4', 'claude'); column 'gold' is not read as a judge: it looks like a truth"
    ],
)
case(
    "wide with abstentions",
    "item,ann,bob\n1,yes,unsure\n2,no,no\n",
    abstain=["unsure"],
    rows="1 ann yes, 2 ann no, 2 bob no",
    notes=["@: every row is read as an item, and 2 columns as judges ('ann', 'bob')"],
)
case(
    "wide with labels in two cases",
    "item,ann,bob\n1,Yes,yes\n2,no,No\n",
    rows="1 ann Yes, 1 bob Yes, 2 ann no, 2 bob no",
    notes=[
        "@: every row is read as an item, and 2 columns as judges ('ann', 'bob')",
        "@: 'Yes', 'yes' are read as one label, 'Yes'; 'no', 'No' are read as one label, 'no' (keep_case=True keeps labels in different case apart)",
    ],
)
case("two empty columns", "item,judge,label,,\na,x,yes,,\na,y,no,,\n", rows="a x yes, a y no")
case(
    "header in the second row",
    ",,\nitem,judge,label\na,x,yes\n",
    error="@: no column for the item (columns: '', '_duplicated_0', '_duplicated_1'); usual names are item, task, doc, document, question, unit, docno, passage, instance, example, sample, or name it with item=; if the first row holds data, add a header above it",
)
case(
    "total row at the end",
    H + B + "Total,,\n",
    notes=["@: 1 of 5 judgments have no label (empty); they are left out, and 1 item without any other judgment"],
)
case(
    "wide with a row of nothing",
    "item,ann,bob\n1,yes,no\n2,,\n3,no,no\n",
    rows="1 ann yes, 1 bob no, 3 ann no, 3 bob no",
    notes=[
        "@: every row is read as an item, and 2 columns as judges ('ann', 'bob')",
        "@: 1 of 3 rows has no label at all",
    ],
)
case("Prolific with a row per judgment", "PROLIFIC_PID,item,answer\nx,a,yes\ny,a,no\n", rows="a x yes, a y no")
case("annotation ids", "item,annotator,label,annotation_id\na,x,yes,1\na,y,no,2\n", rows="a x yes, a y no")
case("feedback of people", "item,judge,label,feedback.text\na,x,yes,thanks\na,y,no,\n", rows="a x yes, a y no")
case("answers to run ids with a judge", "run_id,key,score,judge,item,label\nr,k,1,x,a,yes\n", rows="a x yes")


@pytest.mark.parametrize("name", CASES)
def test_no_odd_file_is_misread_silently(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """A file gives exactly the judgments that it holds and the right notes, or one line that says why it does not."""
    expected = CASES[name]
    monkeypatch.chdir(tmp_path)
    Path(expected.file).write_bytes(expected.content)
    if expected.error is not None:
        with pytest.raises(AdjudgeError) as caught:
            read(expected.file, **expected.options)
        assert str(caught.value) == expected.error.replace("@", expected.file)
    else:
        table = judgment_table(read(expected.file, **expected.options)).select("item", "judge", "label")
        rows = ", ".join(" ".join(map(str, row)) for row in table.rows())
        assert (table.height if isinstance(expected.rows, int) else rows) == expected.rows
    assert [str(warning.message).replace(expected.file, "@") for warning in recwarn] == expected.notes


def test_the_corpus_is_large() -> None:
    """It has at least 150 files."""
    assert len(CASES) >= 150
