"""``LambdaMART``: boosted trees for ranking (Burges 2010) by LightGBM, with the interface of ``RankSVM``.

Rows may come in any order. Weights are those of LightGBM: the gradient of a row, which sums those of its pairs, is
multiplied by the weight of the row. With ``soft`` the targets are degrees from 0 to 1, rounded to steps for LightGBM.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import AdjudgeWarning, InputError, MissingExtra, quote
from adjudge.learn.pairs import NothingToLearn, group_codes, groups_without_pairs, make_pairs, row_weights
from adjudge.learn.ranker import Ranker, check_flags, is_number, warn_without_groups
from adjudge.learn.scikit import check_is_fitted, validate_data

STEPS = 20  # steps of a degree from 0 to 1
LEAST = {"trees": 1, "leaves": 2, "least": 0, "seed": 0, "threads": -1}  # the smallest value of each integer parameter
PART = 0.3  # of the features that a random split is drawn from
MOST = 30  # the highest grade: gains double with each grade


class LambdaMART(Ranker):
    """Boosted trees that learn the order of rows within groups.

    Parameters
    ----------
    trees : int, default=200
    rate : float, default=0.05
        Learning rate.
    leaves : int, default=15
        Maximum number of leaves of a tree.
    least : int, default=20
        Minimum number of rows in a leaf.
    random : bool, default=False
        Whether splits are drawn at random among a random part of the features, as in extremely randomised trees
        (Geurts et al. 2006). Such trees vary less with the training rows, which helps if there are few.
    soft : bool, default=False
        Whether targets are degrees from 0 to 1 rather than grades 0, 1, 2, ...
    seed : int, default=0
    threads : int, default=1

    Attributes
    ----------
    trees_ : str, the model as LightGBM writes it
    pairs_ : int, pairs with a weight above 0
    groups_without_pairs_ : int, groups without a pair

    Groups are passed as for ``RankSVM``; without groups all rows form one group, with a ``NoGroupsWarning``.

    """

    def __init__(
        self,
        trees: int = 200,
        *,
        rate: float = 0.05,
        leaves: int = 15,
        least: int = 20,
        random: bool = False,
        soft: bool = False,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        self.trees = trees
        self.rate = rate
        self.leaves = leaves
        self.least = least
        self.random = random
        self.soft = soft
        self.seed = seed
        self.threads = threads

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> LambdaMART:
        """Train on rows X (N, F) with targets y (N): grades 0, 1, 2, ..., or degrees from 0 to 1."""
        light = _lightgbm()
        self.check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        pairs = make_pairs(y, groups, sample_weight, soft=self.soft)
        grade = self._grades(y)
        warn_without_groups(groups, "fit")
        without = groups_without_pairs(pairs)
        if without is not None:
            warnings.warn(without, AdjudgeWarning, stacklevel=2)
        code, count = group_codes(groups, y.size)
        order = np.argsort(code, kind="stable")
        data = light.Dataset(
            X[order],
            grade[order],
            weight=row_weights(sample_weight, y.size)[order],
            group=np.bincount(code, minlength=count),
            free_raw_data=True,
            params={"verbose": -1},
        )
        try:
            booster = light.train(self._settings(), data, num_boost_round=int(self.trees))
        except light.basic.LightGBMError as error:  # for example a group with too many rows
            raise NothingToLearn(f"LightGBM refuses these rows: {error}") from error
        if not booster.feature_importance("split").any():
            warnings.warn(
                f"the trees have no split, so all rows have the same score: no feature separates {int(self.least):,} "
                f"of {y.size:,} rows from the others, as a leaf needs; give more rows, or a lower least",
                AdjudgeWarning,
                stacklevel=2,
            )
        self.trees_ = booster.model_to_string()
        self.pairs_, self.groups_without_pairs_ = pairs.number, pairs.without
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row (N); within a group, higher scores rank above."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return boosted_scores(self.trees_, X, int(self.threads))

    def check_parameters(self) -> None:
        """Refuse invalid parameters; called by ``fit``, because a search sets them one by one."""
        for name, least in LEAST.items():
            value = getattr(self, name)
            if not is_number(value) or value != np.round(value) or not least <= value < 2**31:
                raise NothingToLearn(f"{name} {quote(value)} is not an integer of at least {least}")
        if not is_number(self.rate) or not 0 < self.rate < np.inf:
            raise NothingToLearn(f"rate {quote(self.rate)} is not a number above 0")
        check_flags(random=self.random, soft=self.soft)

    def _grades(self, y: Floats) -> Floats:
        """Return targets as LightGBM needs them: integers from 0."""
        if self.soft:
            wrong, expected = (y < 0) | (y > 1), "a degree from 0 to 1"
            grade: Floats = np.round(y * STEPS)
        else:
            wrong, expected = (y < 0) | (y > MOST) | (y != np.round(y)), f"an integer grade from 0 to {MOST}"
            grade = y
        if wrong.any():
            row = int(wrong.argmax())
            raise NothingToLearn(f"the target of row {row} is {y[row]:g}, expected {expected}")
        return grade

    def _settings(self) -> dict[str, Any]:
        """Return the parameters of LightGBM: the same rows and seed give the same trees."""
        gain = [step / STEPS for step in range(STEPS + 1)] if self.soft else [2**grade - 1 for grade in range(MOST + 1)]
        return {
            "objective": "lambdarank",
            "label_gain": gain,
            "learning_rate": float(self.rate),
            "num_leaves": int(self.leaves),
            "min_data_in_leaf": int(self.least),
            "extra_trees": bool(self.random),
            "feature_fraction_bynode": PART if self.random else 1.0,
            "seed": int(self.seed),
            "num_threads": int(self.threads),
            "deterministic": True,
            "force_row_wise": True,
            "verbose": -1,
        }


def boosted_scores(trees: str, X: Floats, threads: int = 1) -> Floats:
    """Return the score of every row (N) by trees as LightGBM writes them."""
    light = _lightgbm()
    try:
        booster = light.Booster(model_str=trees)
    except light.basic.LightGBMError as error:
        raise InputError(f"LightGBM cannot read the trees of the ranker: {error}") from error
    return np.asarray(booster.predict(X, num_threads=threads), dtype=float)


def _lightgbm() -> Any:
    """Return LightGBM; without it, the error says how to install it."""
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtra("'adjudge[lightgbm]'", "LambdaMART") from error
    return lightgbm
