"""The alternative annotator test: against a second calculation, the figures of its authors, and simulated panels."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp

import adjudge
from adjudge.diagnostics.stand_in import FEWEST_ITEMS, person_tests, stand_ins
from adjudge.errors import UsageError

# Winning rate and advantage probability in the authors' notebook (nitaytech/AltTest, alt_test_example.ipynb).
PUBLISHED = {
    ("alt_framing", 0.15, False): {
        "gemini_flash": (1.00, 0.83), "gemini_pro": (1.00, 0.91), "gpt-4o": (1.00, 0.92),
        "llama-31": (0.50, 0.80), "gpt-4o-mini": (1.00, 0.87), "mistral-v03": (0.25, 0.80),
    },
    ("alt_cebab_aspects", 0.1, False): {
        "gemini_flash": (0.70, 0.91), "gemini_pro": (0.90, 0.94), "gpt-4o": (0.90, 0.93),
        "llama-31": (0.60, 0.89), "gpt-4o-mini": (0.50, 0.90), "mistral-v03": (0.10, 0.81),
    },
    ("alt_lesion", 0.15, True): {
        "gemini_flash": (0.17, 0.71), "gemini_pro": (1.00, 0.81), "gpt-4o": (0.00, 0.62), "gpt-4o-mini": (0.67, 0.73),
    },
}  # fmt: skip


def panel_of_labels(labels, kinds, *, ordinal=False):
    """Return judgments from {judge: {item: label}}."""
    rows = [(item, judge, label) for judge, given in labels.items() for item, label in given.items()]
    table = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    return adjudge.read(table, judges=kinds, ordinal=ordinal)


def simulated(seed, machine_accuracy, items=120, people=4):
    """Return people who are right in 80 % of items, a machine, and the kinds of judges."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, items)
    labels = {}
    for judge, accuracy in [*((f"p{n}", 0.8) for n in range(people)), ("robot", machine_accuracy)]:
        wrong = (truth + rng.integers(1, 3, items)) % 3
        given = np.where(rng.random(items) < accuracy, truth, wrong)
        labels[judge] = {f"i{i}": int(given[i]) for i in range(items)}
    return labels, {judge: "machine" if judge == "robot" else "person" for judge in labels}


def second_calculation(labels, epsilon, score):
    """Return the winning rate and the advantage probability, written from the paper with loops."""
    people = [judge for judge in labels if judge != "robot"]
    p_values, advantages = [], []
    for left_out in people:
        machine, person = [], []
        for item, own in labels[left_out].items():
            others = [labels[judge][item] for judge in people if judge != left_out and item in labels[judge]]
            machine.append(score(labels["robot"][item], others) >= score(own, others))
            person.append(score(own, others) >= score(labels["robot"][item], others))
        difference = np.array(person, float) - np.array(machine, float)
        p_values.append(ttest_1samp(difference, epsilon, alternative="less").pvalue)
        advantages.append(np.mean(machine))
    m = len(p_values)
    limit = 0.05 / sum(1 / n for n in range(1, m + 1))
    ordered = np.sort(p_values)
    below = [n for n in range(m) if ordered[n] <= (n + 1) / m * limit]
    return (below[-1] + 1 if below else 0) / m, np.mean(advantages)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2])
def test_second_calculation(seed, epsilon):
    """The test agrees with one that is written with loops, for labels and for ordered labels."""
    labels, kinds = simulated(seed, 0.75)
    scores = {
        False: lambda label, others: np.mean([label == other for other in others]),
        True: lambda label, others: -np.sqrt(np.mean([(label - other) ** 2 for other in others])),
    }
    for ordinal, score in scores.items():
        (result,) = stand_ins(panel_of_labels(labels, kinds, ordinal=ordinal), epsilon)
        expected = second_calculation(labels, epsilon, score)
        assert (result.winning_rate, result.advantage) == pytest.approx(expected)
        assert (result.judge, result.people, result.items, result.epsilon) == ("robot", 4, 120, epsilon)


@pytest.mark.parametrize("name", PUBLISHED, ids=[name for name, _, _ in PUBLISHED])
def test_published_figures(shared, name):
    """All sixteen machines of three sets have the authors' winning rate and advantage probability."""
    folder, epsilon, ordinal = name
    labels, judges = (shared(f"data/panels/{folder}/{file}.csv") for file in ("labels", "judges"))
    results = stand_ins(adjudge.read(labels, judges=judges, ordinal=ordinal), epsilon)
    assert {each.judge: (round(each.winning_rate, 2), round(each.advantage, 2)) for each in results} == PUBLISHED[name]


def test_good_machines_pass_and_random_ones_fail():
    """In simulated panels, a machine as good as people passes nearly always, and one that guesses never does."""
    passed = dict.fromkeys((0.9, 1 / 3), 0)
    for seed in range(20):
        for accuracy in passed:
            labels, kinds = simulated(seed, accuracy)
            passed[accuracy] += stand_ins(panel_of_labels(labels, kinds))[0].passes
    assert passed[0.9] >= 19
    assert passed[1 / 3] == 0


def test_epsilon_follows_the_people():
    """The margin is .2 for experts and .1 for others, unless it is given."""
    labels, kinds = simulated(1, 0.8)
    assert stand_ins(panel_of_labels(labels, kinds))[0].epsilon == 0.1
    experts = {judge: "expert" if kind == "person" else kind for judge, kind in kinds.items()}
    assert stand_ins(panel_of_labels(labels, experts))[0].epsilon == 0.2
    with pytest.raises(UsageError, match=r"epsilon 1\.5 is not at least 0 and below 1"):
        stand_ins(panel_of_labels(labels, kinds), 1.5)


def test_people_with_few_items_are_left_out():
    """A person needs enough items, each with two other people."""
    labels, kinds = simulated(1, 0.8)
    labels["p3"] = dict(list(labels["p3"].items())[: FEWEST_ITEMS - 1])
    judgments = panel_of_labels(labels, kinds)
    (result,) = stand_ins(judgments)
    assert result.people == 3
    people = judgments.panel.of_kind("person")
    test = person_tests(judgments, people, judgments.judges.to_list().index("robot"), 0.1)
    assert test.items.tolist() == [120, 120, 120]
    assert ((test.rho_machine + test.rho_person) >= 1).all()


@pytest.mark.parametrize(
    ("kinds", "reason"),
    [
        (None, "nothing says which judges are people and which are machines: give judges"),
        (dict.fromkeys(("p0", "p1", "p2", "robot"), "ai"), "the panel has no people, and the test compares"),
        (dict.fromkeys(("p0", "p1", "p2", "robot"), "person"), "the panel has no machines, and the test compares"),
        (
            {"p0": "person", "p1": "person", "p2": "ai", "robot": "ai"},
            "no person judged 30 items together with 2 other people and a machine: the test needs three people",
        ),
    ],
)
def test_what_is_missing_is_said(kinds, reason):
    """Without people, machines or enough of both, the reason is a sentence."""
    labels, _ = simulated(1, 0.8, people=3)
    with pytest.raises(UsageError, match=reason):
        stand_ins(panel_of_labels(labels, kinds))
