import io
import json
import re
import zlib
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from adjudge.errors import AdjudgeError, InputError, UsageError
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.ranker import ABOUT, ARRAYS, NoGroupsWarning, Ranker, load_ranker
from adjudge.learn.ranksvm import RankSVM


class First(Ranker):
    """Ranks by the first feature."""

    def decision_function(self, X):
        """Return it."""
        return np.asarray(X, dtype=float)[:, 0]


def test_rankers_predict_what_they_decide():
    """A prediction is the score."""
    X = [[3.0, 1.0], [1.0, 2.0]]
    assert First().predict(X).tolist() == [3.0, 1.0]


@pytest.mark.parametrize(("y", "share"), [([1, 0, 1, 0], 1.0), ([0, 1, 1, 0], 0.5), ([0, 1, 0, 1], 0.0)])
def test_rankers_are_judged_by_pairs_of_a_group(y, share):
    """Two groups of two rows: the share of pairs in the right order."""
    X = [[2.0], [1.0], [9.0], [8.0]]
    assert First().score(X, y, groups=[0, 0, 1, 1]) == share


def test_rankers_that_are_judged_without_groups_say_so():
    """Since rows of different questions are compared; equal groups mean that."""
    X, y = [[2.0], [1.0], [9.0], [8.0]], [1, 0, 1, 0]
    with pytest.warns(NoGroupsWarning, match="^score got no groups, so all rows form one group"):
        assert First().score(X, y) == 0.75
    assert First().score(X, y, groups=[7] * 4) == 0.75


@pytest.fixture
def rows():
    """Return features with names, targets and groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return pl.DataFrame(X, schema=["a", "b", "c"]), (X[:, 0] + rng.normal(size=200) > 1).astype(int), np.arange(200) % 5


@pytest.mark.parametrize("ranker", [RankSVM("svmlight", soft=True), LambdaMART(10, least=5)])
def test_a_ranker_comes_back_as_it_was(rows, ranker, tmp_path):
    """Parameters, scores and names of features."""
    X, y, g = rows
    ranker.fit(X, y, g).save(tmp_path / "kept")
    again = load_ranker(tmp_path / "kept")
    assert again.get_params() == ranker.get_params()
    assert np.array_equal(again.decision_function(X), ranker.decision_function(X))
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert again.pairs_ == ranker.pairs_


def test_an_unfitted_ranker_is_not_saved(tmp_path):
    """There is nothing to keep."""
    with pytest.raises(NotFittedError):
        RankSVM().save(tmp_path)


def test_rankers_without_names_of_features_have_none(rows, tmp_path):
    """After they come back, either."""
    X, y, g = rows
    RankSVM().fit(X.to_numpy(), y, g).save(tmp_path / "kept")
    assert not hasattr(load_ranker(tmp_path / "kept"), "feature_names_in_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "was saved in format 99 by a newer adjudge; this one reads up to 2"),
        ({"ranker": "Magic"}, "holds a Magic, expected one of 'RankSVM', 'LambdaMART', 'AverageRanker'"),
        ({"ranker": ["RankSVM"]}, r"holds a \['RankSVM'\], expected one of"),
        ({"checksums": {ARRAYS: 1}}, "is a damaged saved ranker: ranker.npz was changed after it was saved"),
        ({"checksums": None}, "is a damaged saved ranker: "),
        ({"format": "1"}, "is a damaged saved ranker: format '1' is not a whole number"),
        ({"numbers": {}}, "is a damaged saved ranker: 'intercept_' is missing; train and save it again"),
        ({"numbers": 3}, "is a damaged saved ranker: "),
        ({"numbers.intercept_": "x"}, "is a damaged saved ranker: intercept_ 'x' is not a finite number"),
        ({"numbers.intercept_": float("nan")}, "is a damaged saved ranker: intercept_ 'nan' is not a finite number"),
        ({"numbers.pairs_": 1.5}, "is a damaged saved ranker: pairs_ '1.5' is not a whole number"),
        ({"numbers.n_features_in_": 4}, r"is a damaged saved ranker: coef_ of shape \(3,\) must be 4 finite numbers"),
        ({"features": ["a", "b"]}, "is a damaged saved ranker: features must be the names of 3 features"),
        ({"features": "abc"}, "is a damaged saved ranker: features must be the names of 3 features"),
        ({"features": [1, 2, 3]}, "is a damaged saved ranker: features must be the names of 3 features"),
        ({"parameters": {"d": 1}}, "is a damaged saved ranker: .*unexpected keyword argument 'd'"),
        ({"parameters": None}, "is a damaged saved ranker: "),
        ({"parameters.c": []}, r"is a damaged saved ranker: c '\[\]' is not a number above 0"),
    ],
)
def test_what_is_no_saved_ranker_is_refused(rows, tmp_path, change, message):
    """With where and what."""
    X, y, g = rows
    RankSVM().fit(X, y, g).save(tmp_path / "kept")
    about = json.loads((tmp_path / "kept" / ABOUT).read_text())
    del about["checksum"]  # as files were before it was written
    for key, value in change.items():
        outer, _, inner = key.partition(".")
        about[outer] = {**about[outer], inner: value} if inner else value
    (tmp_path / "kept" / ABOUT).write_text(json.dumps(about))
    with pytest.raises(InputError, match=f"kept: {message}"):
        load_ranker(tmp_path / "kept")


def packed(**arrays):
    """Return arrays as they are packed."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def bare(array):
    """Return one array as NumPy writes it alone."""
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no zip", "is a damaged saved ranker: "),
        (b"PK\x03\x04 cut off", "is a damaged saved ranker: "),
        (b"", "is a damaged saved ranker: "),
        (bare(np.zeros(3)), "is a damaged saved ranker: "),
        (packed(), "is a damaged saved ranker: .*coef_"),
        (
            packed(coef_=[1.0, np.nan, 0.0]),
            r"is a damaged saved ranker: coef_ of shape \(3,\) must be 3 finite numbers",
        ),
        (packed(coef_=[1.0, np.inf, 0.0]), "must be 3 finite numbers, one for each feature"),
        (packed(coef_=[1.0, 2.0]), r"coef_ of shape \(2,\) must be 3 finite numbers"),
        (packed(coef_=["a", "b", "c"]), "must be 3 finite numbers"),
        (packed(coef_=np.array([None] * 3)), "is a damaged saved ranker: Object arrays cannot be loaded"),
    ],
)
def test_arrays_that_are_none_are_refused(rows, tmp_path, content, message):
    """Also where the checksum is theirs."""
    RankSVM().fit(*rows).save(tmp_path / "kept")
    about = json.loads((tmp_path / "kept" / ABOUT).read_text())
    del about["checksum"]
    about["checksums"] = {ARRAYS: zlib.crc32(content)}
    (tmp_path / "kept" / ABOUT).write_text(json.dumps(about))
    (tmp_path / "kept" / ARRAYS).write_bytes(content)
    with pytest.raises(InputError, match=f"kept: .*{message}"):
        load_ranker(tmp_path / "kept")


@pytest.mark.parametrize("vouched", [False, True])
@pytest.mark.parametrize("ranker", [RankSVM(), LambdaMART(3, least=5)])
def test_damaged_files_are_refused_whatever_the_damage(rows, tmp_path, ranker, vouched):
    """Cut off or with bytes changed: refused in a sentence, or the ranker is a sane one. Vouched: checksums fit."""
    X, y, g = rows
    ranker.fit(X, y, g).save(tmp_path / "kept")
    complete = {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    expected, refused = ranker.decision_function(X), 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        name = str(rng.choice([ABOUT, ARRAYS] if vouched else sorted(complete)))
        content = bytearray(complete[name])
        if seed % 4 == 0:
            content = content[: rng.integers(len(content))]
        else:
            content[rng.integers(len(content))] ^= rng.integers(1, 256)
        files = {**complete, name: bytes(content)}
        if vouched:
            about = re.sub(rb',\n "checksum": [0-9]+', b"", files[ABOUT])
            files[ABOUT] = about.replace(b"%d" % zlib.crc32(complete[ARRAYS]), b"%d" % zlib.crc32(files[ARRAYS]))
        for file, stored in files.items():
            (tmp_path / "kept" / file).write_bytes(stored)
        try:
            result = load_ranker(tmp_path / "kept")
        except AdjudgeError:
            refused += 1
            continue
        if vouched:
            called = X.rename(dict(zip("abc", result.feature_names_in_, strict=True)))
            assert np.isfinite(result.decision_function(called)).all()
        else:
            assert np.array_equal(result.decision_function(X), expected)
    assert refused > (100 if vouched else 190)


@pytest.mark.parametrize("change", [("end of trees", ""), ("max_feature_idx=2", ""), ("tree\n", "x\n")])
def test_trees_that_are_none_are_refused(rows, tmp_path, change):
    """Cut off, or of other features, also where the checksum is theirs."""
    ranker = LambdaMART(3, least=5).fit(*rows)
    ranker.trees_ = ranker.trees_.replace(*change, 1)
    ranker.save(tmp_path / "kept")
    with pytest.raises(InputError, match=r"damaged saved ranker: trees.txt does not hold trees of 3 features"):
        load_ranker(tmp_path / "kept")


def test_parameters_of_numpys_types_are_saved_as_pythons(rows, tmp_path):
    """And come back equal."""
    kinds = [
        RankSVM(np.float64(0.5), soft=np.bool_(True), pair_weight=np.str_("min"), tolerance=np.float32(1e-5)),
        RankSVM(np.int64(2)),
        LambdaMART(np.int64(3), rate=np.float32(0.1), leaves=np.int32(4), least=np.uint8(5), seed=np.int64(1)),
    ]
    for ranker in kinds:
        ranker.fit(*rows).save(tmp_path / "kept")
        again = load_ranker(tmp_path / "kept")
        assert again.get_params() == ranker.get_params()
        assert {type(value) for value in again.get_params().values()} <= {bool, int, float, str}
        assert np.array_equal(again.decision_function(rows[0]), ranker.decision_function(rows[0]))


def test_what_cannot_be_saved_is_refused(rows, tmp_path):
    """A parameter that JSON has no word for, and a ranker of someone else's."""
    with pytest.raises(UsageError, match="c '1/2' cannot be saved: only numbers, text, True and False can"):
        RankSVM(Fraction(1, 2)).fit(*rows).save(tmp_path / "kept")

    class Mine(RankSVM):
        """Another one."""

    with pytest.raises(UsageError, match="a Mine cannot be saved; 'RankSVM', 'LambdaMART', 'AverageRanker' can"):
        Mine().fit(*rows).save(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_folder_without_one_is_refused(tmp_path):
    """With the command that writes one."""
    with pytest.raises(InputError, match=r"is not a saved ranker: ranker.json is missing \(adjudge rerank train"):
        load_ranker(tmp_path)


def test_nothing_is_pickled(rows, tmp_path):
    """The arrays load without it."""
    X, y, g = rows
    RankSVM().fit(X, y, g).save(tmp_path / "kept")
    with np.load(tmp_path / "kept" / ARRAYS, allow_pickle=False) as packed:
        assert packed["coef_"].shape == (3,)
