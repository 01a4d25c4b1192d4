"""Where a run is, kept and found again."""

import numpy as np

from adjudge.engines.checkpoint import Checkpoint, run_id
from adjudge.inference.em import EmState
from adjudge.inference.options import Options
from adjudge.inference.params import accurate


def test_a_climb_is_found_where_it_was(tmp_path):
    """To the bit, endless evidence included."""
    current = EmState(accurate(4, 3), -np.inf, 4.0, (-3.5, -3.25), 7, ("a", "b"))
    Checkpoint(tmp_path, "q", 0.0).save_em(current)
    result = Checkpoint(tmp_path, "q").load_em()
    assert result[1:] == current[1:]
    assert all((param == other).all() for param, other in zip(result.params, current.params, strict=True))


def test_a_chain_goes_on_with_its_random_stream(tmp_path):
    """Whose state is not only numbers."""
    rng = np.random.Generator(np.random.SFC64(5))
    rng.random(3)
    stored = Checkpoint(tmp_path, "q", 0.0)
    stored.save(1, lambda: {"stream": rng.bit_generator.state, "counts": [1, 2, 3, 4], "prevalence": np.ones((1, 2))})
    result, other = stored.load(1), np.random.Generator(np.random.SFC64(0))
    other.bit_generator.state = result["stream"]
    assert (other.random(5) == rng.random(5)).all()
    assert result["counts"] == [1, 2, 3, 4]
    assert stored.load(0) is None


def test_it_is_kept_now_and_then_and_forgotten_in_the_end(tmp_path):
    """The first at once, the next when it is time."""
    stored = Checkpoint(tmp_path / "c", "q", every=1_000.0)
    stored.save_em(EmState(accurate(2, 2), passes=1))
    stored.save_em(EmState(accurate(2, 2), passes=2))
    assert stored.load_em().passes == 1
    stored.clear()
    assert stored.load_em() is None


def test_another_question_is_not_answered(shelf, tmp_path):
    """Other options, another model, other blocks."""
    requested = run_id(shelf.blocks, "dawid-skene", Options())
    assert requested == run_id(shelf.blocks, "dawid-skene", Options())
    assert requested != run_id(shelf.blocks, "dawid-skene", Options(seed=1))
    assert requested != run_id(shelf.blocks, "one-coin", Options())
    Checkpoint(tmp_path, requested, 0.0).save_em(EmState(accurate(2, 2)))
    assert Checkpoint(tmp_path, "another").load_em() is None
