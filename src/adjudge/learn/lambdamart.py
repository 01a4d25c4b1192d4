"""``LambdaMART``: boosted trees that learn an order (Burges 2010), by LightGBM, called as ``RankSVM`` is.

Rows may come in any order of their groups. Weights are LightGBM's: every row's gradients, which sum those of its pairs,
are multiplied by its weight. With ``soft`` the targets are degrees from 0 to 1, of which LightGBM sees steps.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import AdjudgeWarning, InputError, MissingExtra, quote
from adjudge.learn.pairs import NothingToLearn, group_codes, paired, row_weights, told
from adjudge.learn.ranker import Ranker, is_number, refuse_unless_flags, tell_without_groups
from adjudge.learn.scikit import check_is_fitted, validate_data

STEPS = 20  # of a degree from 0 to 1
LEAST = {"trees": 1, "leaves": 2, "least": 0, "seed": 0, "threads": -1}  # that each whole parameter may be
MOST = 30  # the highest grade: gains double with each


class LambdaMART(Ranker):
    """Boosted trees that learn the order of rows in their groups.

    Parameters
    ----------
    trees : int, default=200
    rate : float, default=0.05
        How much each tree counts.
    leaves : int, default=15
        Leaves of a tree, at most.
    least : int, default=20
        Rows in a leaf, at least.
    soft : bool, default=False
        Whether targets are degrees from 0 to 1 rather than grades 0, 1, 2, ...
    seed : int, default=0
    threads : int, default=1

    Attributes
    ----------
    trees_ : str, the model as LightGBM writes it
    pairs_ : int, pairs that weigh something
    groups_without_pairs_ : int, groups that taught nothing

    Groups reach it as they reach ``RankSVM``; without any all rows are one question, with a ``NoGroupsWarning``.

    """

    def __init__(
        self,
        trees: int = 200,
        *,
        rate: float = 0.05,
        leaves: int = 15,
        least: int = 20,
        soft: bool = False,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        self.trees = trees
        self.rate = rate
        self.leaves = leaves
        self.least = least
        self.soft = soft
        self.seed = seed
        self.threads = threads

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> LambdaMART:
        """Learn from rows X (N, F) with targets y (N): grades from 0 on, or degrees from 0 to 1."""
        light = _lightgbm()
        self.refuse_wrong_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        found = paired(y, groups, sample_weight, soft=self.soft)
        grade = self._grades(y)
        tell_without_groups(groups, "fit")
        without = told(found)
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
        except light.basic.LightGBMError as error:  # a group of too many rows, and the like
            raise NothingToLearn(f"LightGBM refuses these rows: {error}") from error
        if not booster.feature_importance("split").any():
            warnings.warn(
                f"the trees have no split, and all rows have the same score: of {y.size:,} rows no feature parts "
                f"{int(self.least):,} from the others, as a leaf needs; give more rows, or a lower least",
                AdjudgeWarning,
                stacklevel=2,
            )
        self.trees_ = booster.model_to_string()
        self.pairs_, self.groups_without_pairs_ = found.pairs, found.without
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row (N): in a group, higher is above."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        light = _lightgbm()
        try:
            booster = light.Booster(model_str=self.trees_)
        except light.basic.LightGBMError as error:
            raise InputError(f"the ranker's trees are not such as LightGBM writes: {error}") from error
        return np.asarray(booster.predict(X, num_threads=int(self.threads)), dtype=float)

    def refuse_wrong_parameters(self) -> None:
        """Refuse parameters that cannot be: when fitted, since a search sets them one by one."""
        for name, least in LEAST.items():
            value = getattr(self, name)
            if not is_number(value) or value != np.round(value) or not least <= value < 2**31:
                raise NothingToLearn(f"{name} {quote(value)} is not a whole number from {least} on")
        if not is_number(self.rate) or not 0 < self.rate < np.inf:
            raise NothingToLearn(f"rate {quote(self.rate)} is not a number above 0")
        refuse_unless_flags(soft=self.soft)

    def _grades(self, y: Floats) -> Floats:
        """Return targets as LightGBM wants them: whole numbers from 0 on."""
        if self.soft:
            wrong, expected = (y < 0) | (y > 1), "a degree from 0 to 1"
            grade: Floats = np.round(y * STEPS)
        else:
            wrong, expected = (y < 0) | (y > MOST) | (y != np.round(y)), f"a whole grade from 0 to {MOST}"
            grade = y
        if wrong.any():
            row = int(wrong.argmax())
            raise NothingToLearn(f"the target of row {row} is {y[row]:g}, expected {expected}")
        return grade

    def _settings(self) -> dict[str, Any]:
        """Return LightGBM's parameters: the same trees for the same rows and seed."""
        gain = [step / STEPS for step in range(STEPS + 1)] if self.soft else [2**grade - 1 for grade in range(MOST + 1)]
        return {
            "objective": "lambdarank",
            "label_gain": gain,
            "learning_rate": float(self.rate),
            "num_leaves": int(self.leaves),
            "min_data_in_leaf": int(self.least),
            "seed": int(self.seed),
            "num_threads": int(self.threads),
            "deterministic": True,
            "force_row_wise": True,
            "verbose": -1,
        }


def _lightgbm() -> Any:
    """Return LightGBM, or the line to type."""
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtra("'adjudge[lightgbm]'", "LambdaMART") from error
    return lightgbm
