"""Bradley and Terry: printed numbers, a peer, ties, a favoured place, and experts."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from adjudge.arrays import Floats
from adjudge.models.ranking.bradley_terry import PairParams, Preferences, log_likelihood
from adjudge.models.ranking.rank import rank

TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
HOME = (  # won and lost at home against each of the others in turn: American League East, 1987
    ((4, 3), (4, 2), (4, 3), (6, 1), (4, 2), (6, 0)),
    ((3, 3), (4, 2), (4, 3), (6, 0), (6, 1), (4, 3)),
    ((2, 5), (4, 3), (2, 4), (4, 3), (4, 2), (6, 0)),
    ((3, 3), (5, 1), (2, 5), (4, 3), (4, 2), (6, 1)),
    ((5, 1), (2, 5), (3, 3), (4, 2), (5, 2), (6, 0)),
    ((2, 5), (3, 3), (3, 4), (4, 3), (4, 2), (2, 4)),
    ((2, 5), (1, 5), (1, 6), (2, 4), (1, 6), (3, 4)),
)
DIMENSIONS = {
    "validity": "correctness_topical",
    **{name: name for name in ("coherence_logical", "coherence_stylistic", "coverage_broad", "coverage_deep")},
    **{name: name for name in ("consistency_internal", "quality_overall")},
}


def games() -> pl.DataFrame:
    """Return the games of the season, the home team on the left."""
    rows = []
    for home, row in zip(TEAMS, HOME, strict=True):
        for away, (won, lost) in zip([team for team in TEAMS if team != home], row, strict=True):
            rows += [(home, away, "left")] * won + [(home, away, "right")] * lost
    return pl.DataFrame(rows, ["left", "right", "winner"], orient="row")


@pytest.mark.parametrize(
    ("at_home", "printed"),
    [
        (False, [1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0]),
        (True, [1.6196, 1.4754, 1.3271, 1.2813, 1.1438, 0.7047, 0]),
    ],
)
def test_baseball_as_printed(at_home: bool, printed: list[float]) -> None:
    """Agresti's (2002, Categorical Data Analysis, section 10.6) games, coefficients as in Turner and Firth (2012)."""
    result = rank(games(), spread=1000, position_bias=at_home)
    score = dict(zip(result.items["item"], result.items["score"], strict=True))
    assert [score[team] - score["Baltimore"] for team in TEAMS] == pytest.approx(printed, abs=6e-5)
    assert result.items["item"].to_list() == list(TEAMS)
    assert result.position_bias == (pytest.approx(0.3023, abs=6e-5) if at_home else None)
    assert (result.tie, result.reliability) == (None, None)


def test_errors_are_those_of_the_information() -> None:
    """The inverse of Fisher's information of differences, here written out."""
    result = rank(games(), spread=1000)
    table = result.items
    position = {item: n for n, item in enumerate(table["item"])}
    information = np.zeros((7, 7))
    for left, right, _ in games().iter_rows():
        edge = np.eye(7)[position[left]] - np.eye(7)[position[right]]
        p = 1 / (1 + np.exp(-edge @ table["score"].to_numpy()))
        information += p * (1 - p) * np.outer(edge, edge)
    assert table["se"].to_numpy() == pytest.approx(np.sqrt(np.diag(np.linalg.pinv(information))), rel=1e-4)


@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_logistic_regression_agrees(spread: float) -> None:
    """Scikit-learn's ridge with C = spread^2 on +1 left, -1 right, and a column of ones for the place."""
    table = games()
    x = np.array([[(team == left) - (team == right) for team in TEAMS] + [1] for left, right, _ in table.iter_rows()])
    peer = LogisticRegression(C=spread**2, fit_intercept=False, tol=1e-10, max_iter=10_000)
    peer.fit(x, table["winner"] == "left")
    result = rank(table, spread=spread, position_bias=True)
    score = dict(zip(result.items["item"], result.items["score"], strict=True))
    assert [score[team] for team in TEAMS] + [result.position_bias] == pytest.approx(peer.coef_[0], abs=1e-5)


def test_two_items_by_hand() -> None:
    """Six wins, two losses and four ties: log odds log 3, and nu = 4 / sqrt(12)."""
    table = pl.DataFrame({"left": ["p"] * 12, "right": ["q"] * 12, "winner": ["p"] * 6 + ["q"] * 2 + ["tie"] * 4})
    result = rank(table, spread=1000)
    assert result.score[0] - result.score[1] == pytest.approx(np.log(3), abs=1e-4)
    assert result.tie == pytest.approx(4 / np.sqrt(12), abs=1e-4)


def test_a_pair_is_a_ranking_of_two() -> None:
    """Without ties and a favoured place, Plackett and Luce say the same, also of judges."""
    table = games().with_columns(judge=pl.Series(np.arange(273) % 3))
    first, other = rank(table, reliability=True), rank(table, "plackett-luce")
    assert first.score == pytest.approx(other.score, abs=1e-5)
    assert first.judges["reliability"].to_numpy() == pytest.approx(other.judges["reliability"].to_numpy(), abs=1e-4)
    assert first.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-4)


def test_only_ties() -> None:
    """All worths are the same, all share the first rank, and nothing overflows."""
    result = rank(pl.DataFrame({"left": ["p", "q"], "right": ["q", "s"], "winner": ["tie", "="]}))
    assert result.items["rank"].to_list() == [1, 1, 1]
    assert result.converged


def test_crowd_and_experts(shared) -> None:  # type: ignore[no-untyped-def]
    """The consensus of five crowd votes a pair sides with most experts in 65 % of pairs, over seven questions.

    Gienapp et al. (2025): 30 pairs with four experts each, who agree with each other in 58 % of their votes on
    overall quality where neither says neutral.
    """
    votes = pl.read_csv(shared("data/cragc_pairwise/votes.csv.gz"), infer_schema=False)
    experts = pl.read_csv(shared("data/cragc_pairwise/expert_votes.csv"), infer_schema=False)
    columns = {"topic": "query", "left": "a", "right": "b", "winner": "vote", "judge": "worker"}
    right = total = 0
    for requested, dimension in DIMENSIONS.items():
        result = rank(votes.filter(dimension=dimension).drop("dimension"), **columns).items
        score = {(topic, item): value for topic, item, value in result.select("topic", "item", "score").iter_rows()}
        answer = pl.col(requested).replace_strict({"A": 1, "N": 0, "B": -1}).sum().alias("said")
        most = experts.group_by("query_id", "response_a", "response_b").agg(answer).filter(pl.col("said") != 0)
        for topic, a, b, net in most.iter_rows():
            right += (score[topic, a] - score[topic, b]) * net > 0
            total += 1
    assert total == 162
    assert right / total > 0.6


def test_outcomes_are_all_there_is() -> None:
    """Left, right and tie sum to 1, in the proportions of Davidson's paper."""
    theta, arrays = np.log([3.0, 2.0]), (np.ones(1, int), np.zeros(1, int))
    first, second = np.zeros(1, int), np.ones(1, int)

    def p(better: Floats, worse: Floats, tie: bool) -> float:
        data = Preferences(better, worse, arrays[0], np.array([tie]), arrays[1])
        return float(np.exp(log_likelihood(data, PairParams(theta, np.zeros(1), 0.0, np.log(0.5)))[0]))

    left, right, tie = p(first, second, False), p(second, first, False), p(first, second, True)
    assert left + right + tie == pytest.approx(1)
    assert (left / right, tie / np.sqrt(left * right)) == pytest.approx((1.5, 0.5))


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_slopes_are_differences(ties: float) -> None:
    """In log worths, log reliabilities, the place and, where there are ties, nu."""
    rng = np.random.default_rng(0)
    better, worse = np.array([rng.permutation(5)[:2] for _ in range(40)]).T
    side, judge, tie = rng.choice([-1, 1], 40), rng.integers(0, 3, 40), rng.random(40) < ties
    data, x = Preferences(better, worse, side, tie, judge), rng.normal(size=10)
    x[9] = x[9] if ties else -np.inf

    def value(x: Floats) -> float:
        return log_likelihood(data, PairParams(x[:5], x[5:8], x[8], x[9]))[0]

    slope = np.r_[*log_likelihood(data, PairParams(x[:5], x[5:8], x[8], x[9]))[1]]
    nudges = 1e-5 * np.eye(10)[: 10 if ties else 9]
    differences = [(value(x + nudge) - value(x - nudge)) / 2e-5 for nudge in nudges]
    assert slope[: len(differences)] == pytest.approx(differences, abs=1e-7)
    assert ties or slope[9] == 0
