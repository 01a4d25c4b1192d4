import math
import re

from adjudge.collect.entry.codes import ALPHABET, GROUPS, LETTERS, new_code, new_mark


def test_a_code_is_short_unambiguous_and_unguessable():
    """Three groups of four letters without look-alikes, of more than 50 bits."""
    assert re.fullmatch(r"[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}", new_code())
    assert GROUPS * LETTERS * math.log2(len(ALPHABET)) > 50
    assert not set("01ILO") & set(ALPHABET)
    assert len(set(ALPHABET)) == len(ALPHABET)


def test_every_letter_comes_up():
    """None is left out by the draw, and no code comes twice."""
    codes = [new_code() for _ in range(500)]
    assert len(set(codes)) == 500
    assert set("".join(codes)) == {*ALPHABET, "-"}


def test_a_token_fits_an_address():
    """128 bits in 22 letters that need no escaping."""
    tokens = {new_mark() for _ in range(200)}
    assert len(tokens) == 200
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", token) for token in tokens)
