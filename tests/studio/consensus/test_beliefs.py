"""The read side of the consensus."""

import json
import os

import numpy as np
import pytest

from adjudge.studio.consensus.beliefs import TYPICAL, Beliefs, json_bytes, replace_file


def write(folder, belief, summary):
    """Write the files of a consensus, the summary last."""
    target = folder / "consensus"
    target.mkdir(exist_ok=True)
    np.save(target / "belief.npy", np.array(belief))
    np.savez(target / "judges.npz", person=np.array([7]), confusion=np.array([np.eye(2)]), typical=np.full((2, 2), 0.5))
    (target / "summary.json").write_text(json.dumps(summary))


def test_before_any_consensus_nothing_is_known(tmp_path):
    """Items are even, judges typical."""
    found = Beliefs(tmp_path)
    assert found.belief(3) == 0.5
    assert found.confusion(1) is TYPICAL
    assert found.upto == 0
    assert not found.refresh()


def test_files_are_read_when_they_are_new(tmp_path):
    """Once; who is not in them is as judges typically are."""
    found = Beliefs(tmp_path)
    write(tmp_path, [0.5, 0.9], {"upto": 12})
    assert found.refresh()
    assert not found.refresh()
    assert (found.belief(1), found.belief(2), found.upto) == (0.9, 0.5, 12)
    assert found.confusion(7).tolist() == [[1, 0], [0, 1]]
    assert found.confusion(8).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    write(tmp_path, [0.5, 0.1], {"upto": 13})
    os.utime(tmp_path / "consensus" / "summary.json", ns=(1, 1))
    assert found.refresh()
    assert found.belief(1) == 0.1


def test_damaged_files_leave_what_was_read_before(tmp_path):
    """And do no harm."""
    write(tmp_path, [0.5, 0.9], {"upto": 12})
    found = Beliefs(tmp_path)
    (tmp_path / "consensus" / "belief.npy").write_bytes(b"half a f")
    os.utime(tmp_path / "consensus" / "summary.json", ns=(1, 1))
    assert not found.refresh()
    assert found.belief(1) == 0.9


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    """No piece of it is left beside."""
    path = tmp_path / "file"
    replace_file(path, b"one")
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["file"]
    with pytest.raises(OSError, match="file"):
        replace_file(tmp_path / "none" / "file", b"x")


def test_json_is_of_finite_numbers():
    """What no browser could read is refused here."""
    assert json_bytes({"ä": 1.5}) == '{"ä": 1.5}'.encode()
    with pytest.raises(ValueError, match="JSON compliant"):
        json_bytes(float("nan"))
