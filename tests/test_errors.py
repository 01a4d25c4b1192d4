"""The exception tree, and the words that every message is made of."""

import ast
import inspect
from pathlib import Path

import pytest

import adjudge
from adjudge import errors
from adjudge.errors import (
    AdjudgeError,
    AdjudgeWarning,
    CampaignProblems,
    InputError,
    MissingExtra,
    Problems,
    UsageError,
    command_line,
    in_words_of_caller,
    not_one_of,
    option_with,
    quote,
    quoted,
)


@pytest.mark.parametrize(
    ("source", "row", "message"),
    [
        ("labels.csv", 17, "labels.csv, row 17: the label is empty"),
        ("table", 0, "table, row 0: the label is empty"),
        ("labels.csv", None, "labels.csv: the label is empty"),
        (None, 17, "row 17: the label is empty"),
        (None, None, "the label is empty"),
    ],
)
def test_input_error_says_where(source: str | None, row: int | None, message: str) -> None:
    """File and row stand before what is wrong, as far as they are known, and stay on the error."""
    error = InputError("the label is empty", source, row)
    assert str(error) == message
    assert (error.source, error.row) == (source, row)


def test_exit_codes() -> None:
    """Wrong data end the command line with 1, a wrong call with 2."""
    codes = {kind: kind.exit_code for kind in (AdjudgeError, InputError, MissingExtra, UsageError)}
    assert codes == {AdjudgeError: 1, InputError: 1, MissingExtra: 1, UsageError: 2}


def test_missing_extra_says_what_to_type() -> None:
    """The message about a part that is not installed is the line to type."""
    assert (
        str(MissingExtra("pandas", "the frame")) == "the frame needs pandas, which is not installed: pip install pandas"
    )


def test_the_tree_is_drawn_whole() -> None:
    """Every exception stands in the drawing on top of the file, and a warning is no error."""
    kinds = [
        kind.__name__ for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AdjudgeError)
    ]
    assert len(kinds) == 5
    assert all(name in (errors.__doc__ or "") for name in kinds)
    assert issubclass(AdjudgeWarning, UserWarning)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("yes", "'yes'"),
        (3, "'3'"),
        ("日本 é", "'日本 é'"),
        ("it's", "'it's'"),
        ("two\nlines\x00", r"'two\nlines\x00'"),
        ("a" * 60, f"'{'a' * 60}'"),
        ("a" * 61, f"'{'a' * 60}...'"),
    ],
)
def test_quote_fits_on_a_line(name: object, shown: str) -> None:
    """A name is shown in quotation marks, on one line, cut where it is very long."""
    assert quote(name) == shown


def test_quoted_lists_names() -> None:
    """Many names are cut, and an empty list says 'none'."""
    assert quoted(["a", "b"]) == "'a', 'b'"
    assert quoted("abcdefgh") == "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'"
    assert quoted(range(5), most=3) == "'0', '1', '2' and 2 more"
    assert quoted([]) == "none"


def test_no_problems_refuse_nothing() -> None:
    """Without problems nothing is raised."""
    Problems().refuse("here")


def test_every_problem_has_a_line() -> None:
    """Problems are listed with file and line, also those that were raised as errors."""
    problems = Problems()
    problems.add("is missing", "a.csv")
    problems.add("is odd", "b.csv", 7)
    with problems.catch():
        raise InputError("is empty", "c.csv", 2)
    with pytest.raises(InputError) as refused:
        problems.refuse("trial")
    assert str(refused.value) == (
        "trial: there are 3 problems\n  a.csv: is missing\n  b.csv, line 7: is odd\n  c.csv, line 2: is empty"
    )
    assert refused.value.exit_code == 1


def test_one_problem() -> None:
    """One problem is not counted."""
    assert str(CampaignProblems(["a: b"], "x")) == "x: there is a problem\n  a: b"


def test_many_problems_are_cut() -> None:
    """The first problems are shown, the rest are counted and stay on the error."""
    error = CampaignProblems([str(n) for n in range(1060)], "x")
    assert str(error).splitlines()[-2:] == ["  49", "  and 1,010 more"]
    assert len(error.problems) == 1060


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("dawid_skene", ": did you mean 'dawid-skene'?"),
        ("DawidSkene", ": did you mean 'dawid-skene'?"),
        ("majorty", ": did you mean 'majority'?"),
        ("Skene", ": did you mean 'dawid-skene'?"),
        ("magic", ""),
        ("major", ": did you mean 'majority'?"),
        ("maj", ""),
        (3, ""),
    ],
)
def test_an_unknown_name_is_answered_with_the_closest(name: object, end: str) -> None:
    """Case, spaces and signs do not count, and a name that is like no other gets no hint."""
    message = not_one_of("model", name, ["majority", "dawid-skene"])
    assert message == f"model '{name}' is not one of 'majority', 'dawid-skene'{end}"


def test_options_are_named_as_the_caller_writes_them() -> None:
    """The command line reads of options, Python of arguments; labels in quotation marks and commands stay."""
    message = "label '--x' is new: give --labels, --keep-case or --judge-column, or run `adjudge fit --gold g.csv`"
    with command_line():
        assert str(UsageError(message)) == str(AdjudgeWarning(message)) == message
        assert str(InputError(message, "a.csv", 3)) == f"a.csv, row 3: {message}"
        assert option_with("--abstain", ["can't tell"]) == '--abstain "can\'t tell"'
        assert option_with("--positive", 2) == "--positive 2"
    python = "label '--x' is new: give labels=, keep_case=True or judge_column=, or run `adjudge fit --gold g.csv`"
    assert str(UsageError(message)) == str(AdjudgeWarning(message)) == python
    assert str(InputError(message, "a.csv", 3)) == f"a.csv, row 3: {python}"
    assert in_words_of_caller("adjudge rerank train --out writes it") == "adjudge rerank train --out writes it"
    assert option_with("--positive", 2) == "positive=2"


def test_every_argument_in_a_message_exists() -> None:
    """An option in a message of a subpackage that Python users call is an argument of a public function there."""
    public = [getattr(adjudge, name) for name in adjudge.__all__]
    arguments = {name for each in public if callable(each) for name in inspect.signature(each).parameters}
    arguments |= {"master", "force"}  # of the engine of Spark, and of saving a ranker
    named = set()
    for path in Path(adjudge.__file__).parent.rglob("*.py"):
        if not {"cli", "studio"} & set(path.parts):
            for text in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(text, ast.Constant) and isinstance(text.value, str) and "\n" not in text.value:
                    spelled = (in_words_of_caller(option[0]) for option in errors.OPTION.finditer(text.value))
                    named |= {option.partition("=")[0] for option in spelled if not option.startswith(("adjudge", "`"))}
    assert {"labels", "keep_case", "mean_one", "format"} <= named
    assert named - arguments == {"blocks"}  # only a command takes it
