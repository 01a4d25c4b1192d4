"""Rows of files, a batch at a time."""

import gzip
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data import make_blocks as room
from adjudge.data.blocks import MANIFEST
from adjudge.data.encode import LabelOptions
from adjudge.data.make_blocks import Table, batches, make_blocks, sizes
from adjudge.data.scale import Scale
from adjudge.errors import AdjudgeWarning, InputError, UsageError

ROWS = [f"d{n},w{n % 3},{n % 2}" for n in range(25)]
TEXT = "item,judge,label\n" + "\n".join(ROWS) + "\n"


def read(files, rows=10, format=None):  # noqa: A002
    """Return all items of files, and how many batches they came in."""
    result = [(source.column("item").to_list(), many) for source, many in batches(files, rows, format)]
    assert all(len(items) == many for items, many in result)
    return [item for items, _ in result for item in items], len(result)


@pytest.mark.parametrize(("ending", "mark"), [("csv", ","), ("csv", ";"), ("tsv", "\t"), ("tab", "\t")])
def test_separated_values_come_in_order(tmp_path, ending, mark):
    """Whatever separates them."""
    file = tmp_path / f"t.{ending}"
    file.write_text(TEXT.replace(",", mark))
    assert read([file])[0] == [f"d{n}" for n in range(25)]


def test_parquet_rows_count_from_0_over_batches(tmp_path):
    """As those of a file that is read whole."""
    pl.DataFrame({"item": range(25)}).write_parquet(tmp_path / "t.parquet", row_group_size=5)
    result = list(batches([tmp_path / "t.parquet"], 10))
    assert [source.row(0) for source, _ in result] == [sum(many for _, many in result[:n]) for n in range(len(result))]


@pytest.mark.parametrize("packed", [False, True])
def test_what_cannot_be_read_by_lines_is_read_whole(tmp_path, packed):
    """Compressed text, and a header in quotation marks."""
    text = TEXT if packed else TEXT.replace("item", '"item"')
    file = tmp_path / ("t.csv.gz" if packed else "t.csv")
    file.write_bytes(gzip.compress(text.encode(), mtime=0) if packed else text.encode())
    assert read([file]) == ([f"d{n}" for n in range(25)], 1)


def test_sizes_are_told_before_reading(tmp_path):
    """Exactly of Parquet, about of text."""
    pl.DataFrame({"item": range(1_234)}).write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("item,judge,label\n" + "d,w,1\n" * 50_000)
    assert sizes([tmp_path / "t.parquet"]) == 1_234
    assert sizes([tmp_path / "t.csv"]) == pytest.approx(50_000, rel=0.01)


def test_an_empty_parquet_file_is_refused(tmp_path):
    """With its name."""
    pl.DataFrame({"item": []}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t.parquet: holds no rows"):
        read([tmp_path / "t.parquet"])


def rows(many=3_000, items=700, judges=30, seed=0):
    """Return judgments in no order."""
    rng = np.random.default_rng(seed)
    item = rng.integers(0, items, many)
    return pl.DataFrame(
        {
            "item": [f"d{i}" for i in item],
            "judge": [f"w{j}" for j in rng.integers(0, judges, many)],
            "label": rng.integers(0, 4, many),
            "topic": [f"t{i % 5}" for i in item],
            "weight": rng.integers(1, 4, many) / 2,
        }
    )


def plain(judgments):
    """Return judgments as rows in an order of their own."""
    item, judge = judgments.items.cast(str).to_list(), judgments.judges.cast(str).to_list()
    columns = {
        "item": [item[i] for i in judgments.item()],
        "judge": [judge[j] for j in judgments.judge],
        "label": [judgments.scale.names[k] for k in judgments.label],
    }
    if judgments.topic is not None:
        topics = judgments.topics.to_list()
        columns["topic"] = [topics[judgments.topic[i]] for i in judgments.item()]
    if judgments.weight is not None:
        columns["weight"] = judgments.weight
    table = pl.DataFrame(columns)
    return table.sort(table.columns)


def alike(one, other):
    """Whether two tables hold the same judgments, with judges and labels in the same order."""
    assert one.judges.cast(str).to_list() == other.judges.cast(str).to_list()
    assert one.scale == other.scale
    assert plain(one).equals(plain(other))
    return True


@pytest.mark.parametrize("ending", ["csv", "parquet", "tsv", "jsonl"])
def test_blocks_hold_what_was_in_the_file(tmp_path, monkeypatch, ending):
    """In any format, in many batches and blocks."""
    monkeypatch.setattr(room, "BATCH", 500)
    file, table = tmp_path / f"labels.{ending}", rows()
    writers = {"csv": table.write_csv, "parquet": table.write_parquet, "jsonl": table.write_ndjson}
    writers.get(ending, lambda path: table.write_csv(path, separator="\t"))(file)
    blocks = make_blocks(Table([file], {}), tmp_path / "blocks", block=400)
    assert len(blocks.parts) > 4
    assert len(blocks) == 3_000
    assert alike(blocks.read(), adjudge.read(file))
    assert blocks.judged.sum() == 3_000
    assert blocks.weight == table["weight"].sum()


def test_an_item_is_in_one_block(tmp_path):
    """Whole, and in the order its judgments came."""
    file = tmp_path / "labels.csv"
    rows().write_csv(file)
    blocks = make_blocks(Table([file], {}), tmp_path / "blocks", block=300)
    names = [blocks.names(number).to_list() for number in range(len(blocks.parts))]
    assert sum(map(len, names)) == len({name for some in names for name in some}) == blocks.items
    judgments, own = adjudge.read(file), blocks.block(1)
    item = names[1][0]
    position = judgments.items.to_list().index(item)
    reference = judgments.judge[judgments.start[position] : judgments.start[position + 1]]
    assert (own.cell[: own.start[1]] // own.labels == reference).all()


def test_many_files_are_one_table(tmp_path):
    """Cut anywhere."""
    table = rows()
    for number in range(3):
        table[number * 1_000 : (number + 1) * 1_000].write_parquet(tmp_path / f"{number}.parquet")
    table.write_parquet(tmp_path / "all.parquet")
    files = [tmp_path / f"{number}.parquet" for number in range(3)]
    assert alike(make_blocks(Table(files, {}), tmp_path / "b").read(), adjudge.read(tmp_path / "all.parquet"))


def test_numbers_stay_numbers(tmp_path):
    """Of items, judges and labels."""
    table = pl.DataFrame({"item": [3, 1, 3, 2], "judge": [7, 7, 8, 8], "label": [1, 0, 1, 1]})
    table.write_parquet(tmp_path / "t.parquet")
    blocks = make_blocks(Table([tmp_path / "t.parquet"], {}), tmp_path / "b")
    assert sorted(blocks.names(0).to_list()) == [1, 2, 3]
    assert blocks.judges.to_list() == [7, 8]
    assert blocks.scale.labels == (0, 1)


def test_an_item_in_several_topics_is_several_items(tmp_path):
    """Called as in memory, in all blocks alike."""
    table = rows().with_columns(topic=pl.Series([f"t{n % 3}" for n in range(3_000)]))
    table.write_csv(tmp_path / "t.csv")
    with pytest.warns(AdjudgeWarning, match="in several topics"):
        blocks = make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b", block=500)
    with pytest.warns(AdjudgeWarning, match="in several topics"):
        judgments = adjudge.read(tmp_path / "t.csv")
    assert alike(blocks.read(), judgments)


@pytest.mark.parametrize("how", ["merge", "drop"])
def test_repeats_are_dropped_as_in_memory(tmp_path, how):
    """A judge's repeats on an item are in one block, so each block can tell."""
    rows(items=50, judges=5).write_csv(tmp_path / "t.csv")
    with pytest.warns(AdjudgeWarning, match="repeats"):
        blocks = make_blocks(Table([tmp_path / "t.csv"], {}, repeats=how), tmp_path / "b", block=500)
    with pytest.warns(AdjudgeWarning, match="repeats"):
        judgments = adjudge.read(tmp_path / "t.csv", repeats=how)
    assert len(blocks) == len(judgments) == blocks.judged.sum()
    assert plain(blocks.read()).equals(plain(judgments))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,judge,label\na,b,1\na,,1\n", r"t.csv, row 3: the judge \(column 'judge'\) is empty"),
        ("item,judge,label\na,b,1\n\n\na,c,maybe\n", r"t.csv, row 5: label 'maybe' is not one of '0', '1'"),
        ("item,judge\na,b\n", "no column for the label"),
        ("item,judge,label\n", "a header but no rows"),
        ("", "is empty"),
        ('item,judge,label\na,b,"1\n', "quotation mark is opened and not closed"),
    ],
)
def test_what_is_wrong_is_said_with_its_row(tmp_path, text, said):
    """As of a file that is read whole, and nothing is left behind."""
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        make_blocks(Table([tmp_path / "t.csv"], {}, labels=["0", "1"]), tmp_path / "b")
    assert not (tmp_path / "b" / MANIFEST).exists()
    assert not list(tmp_path.glob("b/.piles"))


def test_rows_are_counted_over_batches(tmp_path, monkeypatch):
    """Also where a value spans lines."""
    monkeypatch.setattr(room, "BATCH", 50)
    lines = [f'"it\nem{n}",w{n % 7},1' for n in range(600)] + ["x,,1"]
    (tmp_path / "t.csv").write_text("item,judge,label\n" + "\n".join(lines) + "\n")
    with pytest.raises(InputError, match="row 1202: the judge"):
        make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b")


def test_a_batch_may_weigh_nothing_and_all_may_not(tmp_path, monkeypatch):
    """What counts is the sum over all batches."""
    monkeypatch.setattr(room, "BATCH", 500)
    table = rows(many=1_000).with_columns(weight=pl.Series([0.0] * 600 + [1.0] * 400))
    table.write_parquet(tmp_path / "t.parquet")
    assert make_blocks(Table([tmp_path / "t.parquet"], {}), tmp_path / "b").weight == 400
    table.with_columns(weight=pl.lit(0.0)).write_parquet(tmp_path / "0.parquet")
    with pytest.raises(InputError, match="sum to 0: no judgment would count"):
        make_blocks(Table([tmp_path / "0.parquet"], {}), tmp_path / "c")


def test_files_with_other_columns_are_refused(tmp_path):
    """Not left to guesses."""
    rows().write_csv(tmp_path / "a.csv")
    rows().drop("topic").write_csv(tmp_path / "b.csv")
    with pytest.raises(InputError, match=r"b.csv: has other columns than the files before: topic"):
        make_blocks(Table([tmp_path / "a.csv", tmp_path / "b.csv"], {}), tmp_path / "blocks")


def test_blocks_are_made_once(tmp_path):
    """And those of other files are not taken for them."""
    file = tmp_path / "t.csv"
    rows().write_csv(file)
    created = make_blocks(Table([file], {}), tmp_path / "b")
    stamp = (tmp_path / "b" / MANIFEST).stat().st_mtime_ns
    assert len(make_blocks(Table([file], {}), tmp_path / "b")) == len(created)
    assert (tmp_path / "b" / MANIFEST).stat().st_mtime_ns == stamp
    with pytest.raises(InputError, match="blocks of other files, or of the same read in another way"):
        make_blocks(Table([file], {}, repeats="drop"), tmp_path / "b")
    rows(many=10).write_csv(file)
    with pytest.raises(InputError, match="blocks of other files"):
        make_blocks(Table([file], {}), tmp_path / "b")


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    """Nothing is written into it."""
    rows().write_csv(tmp_path / "t.csv")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="is not empty, and is not a folder of blocks"):
        make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b")
    with pytest.raises(UsageError, match="no file"):
        make_blocks(Table([], {}), tmp_path / "c")


def test_memory_bounds_blocks(tmp_path):
    """The less there is, the more of them."""
    rows().write_csv(tmp_path / "t.csv")
    few = make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "few")
    many = make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "many", memory=60_000)
    assert len(few.parts) == 1
    assert len(many.parts) >= 9


@pytest.mark.parametrize("kinds", [(pl.Int64, pl.String), (pl.String, pl.Int32), (pl.Int64, pl.Int32, pl.UInt8)])
def test_names_are_the_same_as_numbers_and_as_text(tmp_path, kinds):
    """An item, a judge or a label is one, whatever a file holds it as; all blocks hold items alike."""
    table = pl.DataFrame({"item": [1, 2, 3, 4], "judge": [1, 2, 3, 1], "label": [0, 1, 1, 0]})
    files = [tmp_path / f"{number}.parquet" for number in range(len(kinds))]
    for file, kind in zip(files, kinds, strict=True):
        table.cast(kind).write_parquet(file)
    blocks = make_blocks(Table(files, {}), tmp_path / "b", block=1)
    first = (lambda value: str(value)) if pl.String in kinds else int
    assert blocks.judges.to_list() == [first(1), first(2), first(3)]
    assert blocks.scale.names == ("0", "1")
    assert len(blocks.parts) > 1
    names = [name for number in range(len(blocks.parts)) for name in blocks.names(number)]
    assert sorted(names) == [first(n) for n in (1, 2, 3, 4)]
    assert {blocks.names(number).dtype for number in range(len(blocks.parts))} == {pl.Series(names).dtype}


def test_fractions_of_which_a_batch_is_whole(tmp_path):
    """Are fractions in all batches."""
    for number, item in enumerate(([0.5, 1.0, 2.0], [1.0, 2.0, 3.0])):
        table = pl.DataFrame({"item": item, "judge": ["a", "b", "c"], "label": item})
        table.write_parquet(tmp_path / f"{number}.parquet")
    blocks = make_blocks(Table([tmp_path / "0.parquet", tmp_path / "1.parquet"], {}), tmp_path / "b", block=1)
    assert sorted(name for n in range(len(blocks.parts)) for name in blocks.names(n)) == [0.5, 1.0, 2.0, 3.0]
    assert blocks.scale.labels == (0.5, 1.0, 2.0, 3.0)


def test_a_column_named_twice_is_refused(tmp_path):
    """As in memory: nobody knows which is meant."""
    (tmp_path / "t.csv").write_text("item,judge,label,label\nd,w,1,2\n")
    with pytest.raises(InputError, match="two columns are called 'label'"):
        make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b")


def test_lines_may_end_as_on_old_machines(tmp_path):
    """With a carriage return alone."""
    (tmp_path / "t.csv").write_bytes(b"item,judge,label\rd,w,1\re,w,0\r")
    assert len(make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b")) == 2


KILLED = """
import os, signal, sys
from adjudge.data.make_blocks import Table, make_blocks
def say(what):
    if what.startswith(sys.argv[3]):
        os.kill(os.getpid(), getattr(signal, sys.argv[4]))
make_blocks(Table([sys.argv[1]], {}), sys.argv[2], block=400, say=say)
"""


@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
@pytest.mark.parametrize("when", ["read", "3 of"])
def test_making_blocks_may_be_stopped_and_asked_again(tmp_path, when, how):
    """At any time: what is missing is written again."""
    rows().write_csv(tmp_path / "t.csv")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "t.csv"), str(tmp_path / "b"), when, how]
    assert subprocess.run(command, capture_output=True).returncode != 0
    assert not (tmp_path / "b" / MANIFEST).exists()
    blocks = make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b", block=700)
    assert alike(blocks.read(), adjudge.read(tmp_path / "t.csv"))
    assert len(list((tmp_path / "b").iterdir())) == 2 * len(blocks.parts) + 3  # names of judges and topics, manifest


def test_two_runs_do_not_fill_one_folder(tmp_path):
    """The second is refused, and the first goes on."""
    rows().write_csv(tmp_path / "t.csv")
    refused = []

    def meanwhile(what):
        with pytest.raises(InputError, match="is being filled by another run"):
            make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b")
        refused.append(what)

    blocks = make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b", block=700, say=meanwhile)
    assert refused
    assert alike(blocks.read(), adjudge.read(tmp_path / "t.csv"))


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_damaged_manifest_is_told(tmp_path, content):
    """Before its blocks are believed."""
    rows().write_csv(tmp_path / "t.csv")
    make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b")
    (tmp_path / "b" / MANIFEST).write_text(content)
    with pytest.raises(InputError, match=r"damaged manifest.json|blocks of other files"):
        make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b")


def test_what_cannot_be_a_folder_or_a_file_is_told(tmp_path):
    """A folder under a file, and standard input."""
    rows().write_csv(tmp_path / "t.csv")
    with pytest.raises(InputError, match="cannot be written: Not a directory"):
        make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "t.csv" / "b")
    with pytest.raises(UsageError, match=r"^blocks= cannot read standard input\. Save it to a file first\.$"):
        make_blocks(Table(["-"], {}), tmp_path / "b")


def test_blocks_read_in_another_format_are_others(tmp_path):
    """A format that was named is part of how files were read."""
    rows().write_csv(tmp_path / "t.csv")
    make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b")
    with pytest.raises(InputError, match="read in another way"):
        make_blocks(Table([tmp_path / "t.csv"], {}, format="csv"), tmp_path / "b")


def test_values_of_labels_are_kept(tmp_path):
    """Blocks have the scale of the judgments in memory; other values make other blocks."""
    path = tmp_path / "t.csv"
    path.write_text("item,judge,label\na,x,good\nb,x,bad\n")
    values = {"good": 3, "bad": 0}
    blocks = make_blocks(Table([path], {}, values=values), tmp_path / "blocks")
    assert blocks.scale == adjudge.read(path, values=values).scale == Scale(("bad", "good"), True, (0.0, 3.0))
    assert make_blocks(Table([path], {}), tmp_path / "plain").scale == Scale(("bad", "good"))


def test_labels_mean_the_same_as_in_memory(tmp_path, monkeypatch):
    """Missing values and abstentions are left out and spellings are merged, over all batches, with notes."""
    monkeypatch.setattr(room, "BATCH", 3)
    text = "item,judge,label\na,x,Yes\na,y,NaN\nb,x,no\nb,y,yes\nc,x,\nc,y,skip\nd,x,NO\n"
    (tmp_path / "t.csv").write_text(text)
    options = LabelOptions(abstain=["skip"])
    with pytest.warns(AdjudgeWarning) as notes:
        blocks = make_blocks(Table([tmp_path / "t.csv"], {}, label_options=options), tmp_path / "blocks")
    assert [str(note.message) for note in notes] == [
        "3 of 7 judgments have no label; they are left out",
        "labels: 'Yes', 'yes' are read as one label, 'Yes'; 'no', 'NO' are read as one label, 'no' (keep_case=True "
        "keeps labels in different case apart)",
    ]
    assert blocks.scale.labels == ("Yes", "no")
    assert sum(part.judgments for part in blocks.parts) == 4
    with pytest.raises(InputError, match="has blocks of other files, or of the same read in another way"):
        make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "blocks")
    (tmp_path / "none.csv").write_text("item,judge,label\na,x,NaN\na,y,\n")
    with pytest.raises(InputError, match=r"none\.csv: every label is missing \(column 'label'\)$"):
        make_blocks(Table([tmp_path / "none.csv"], {}), tmp_path / "no_blocks")


def test_other_shapes_are_refused(tmp_path):
    """A wide table is recognised and refused with what to do."""
    (tmp_path / "wide.csv").write_text("item,ann,bob\n1,yes,no\n2,no,no\n")
    with pytest.raises(InputError) as caught:
        make_blocks(Table([tmp_path / "wide.csv"], {}), tmp_path / "blocks")
    path = tmp_path / "wide.csv"
    assert str(caught.value) == (
        f"{path}: is recognised as wide table (a row per item, a column per judge), and blocks are made of tables with "
        f"one judgment per row: convert it first with `adjudge read {path} --format csv`"
    )
