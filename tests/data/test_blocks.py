"""Blocks in a folder: what they hold, and damage that is noticed."""

import json

import pytest

import adjudge
from adjudge.data.blocks import MANIFEST, block_name, folder_stamps, open_blocks, open_cached, with_gold
from adjudge.data.make_blocks import Table, make_blocks
from adjudge.errors import AdjudgeWarning, InputError


@pytest.fixture
def blocks(tmp_path):
    """Return the judgments of a crowd with topics, in two blocks."""
    crowd = adjudge.simulate("carpenter", topics=5, items=700, judges=30, judgments=3_000, gold=1)
    crowd.table.write_csv(tmp_path / "t.csv")
    return make_blocks(Table([tmp_path / "t.csv"], {}), tmp_path / "b", block=2_000)


def test_blocks_say_what_they_hold(blocks):
    """Sizes are known without reading a block, and another process finds the same ones."""
    assert repr(blocks) == "Blocks(700 items, 30 judges, 2 labels, 3,000 judgments in 2 blocks)"
    assert blocks.first == (0, blocks.parts[0].items)
    assert [blocks.block(n).start.size - 1 for n in range(2)] == [part.items for part in blocks.parts]
    same = open_cached(blocks.address, folder_stamps(blocks.address))
    assert same.names(1).equals(blocks.names(1))
    with pytest.raises(InputError, match=r"manifest.json is missing"):
        folder_stamps((str(blocks.folder.parent), None))


def test_gold_items_that_nobody_judged_are_a_block(blocks):
    """With a warning; gold of strangers alone is refused."""
    with pytest.warns(AdjudgeWarning, match="nobody judged 1 of the 2 gold items"):
        reference = with_gold(blocks, {"i1": 1, "stranger": 0})
    assert (len(reference.parts), reference.names(2).to_list(), reference.truths(2).tolist()) == (3, ["stranger"], [0])
    assert not (reference.folder / block_name(2)).exists()
    assert reference.block(2).cell.size == 0
    with pytest.raises(InputError, match="none of the 1 gold items was judged"):
        with_gold(blocks, {"stranger": 0})


def test_damage_is_noticed(blocks):
    """In any file of the folder, before anything is computed from it."""
    folder = blocks.folder
    for name in ("block-00000.bin", "judges.parquet", "topics.parquet"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
        with pytest.raises(InputError, match="damaged"):
            open_blocks(folder).block(0)
        (folder / name).write_bytes(content)
    about = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**about, "format": 9}))
    with pytest.raises(InputError, match="format 9 by a newer adjudge"):
        open_blocks(folder)
    (folder / MANIFEST).write_text("{")
    with pytest.raises(InputError, match="damaged manifest"):
        open_blocks(folder)
    (folder / MANIFEST).unlink()
    with pytest.raises(InputError, match=r"is not a folder of blocks: manifest.json is missing"):
        open_blocks(folder)


def test_damaged_names_and_truths_are_told(blocks):
    """Names of items by their checksum, truths by their number."""
    result = with_gold(blocks, {"i1": 1, "i2": 0})
    (result.gold / "gold-00000.bin").write_bytes(b"1234")
    with pytest.raises(InputError, match="is missing or damaged: remove"):
        result.truths(0)
    blocks.names(1).to_frame().write_parquet(blocks.folder / "items-00000.parquet")
    with pytest.raises(InputError, match="is not the file that was written"):
        blocks.names(0)
    (blocks.folder / "items-00000.parquet").unlink()
    with pytest.raises(InputError, match="is missing or damaged"):
        blocks.names(0)
