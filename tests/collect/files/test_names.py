"""What topics and documents may be called."""

import pytest

from adjudge.collect.files.names import name_problem


@pytest.mark.parametrize("name", ["401", "FT911-3", "my file", "Größe", "a\u00a0b", "日本", 'say "hi"', "a,b"])
def test_names(name):
    """Nearly anything will do."""
    assert name_problem(name, "topic") is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "topic is empty"),
        ("  ", "topic is empty"),
        (" a", "topic ' a' begins or ends with a blank"),
        (5, "topic is '5', expected a text in quotation marks"),
        ("x" * 201, f"topic '{'x' * 60}...' has 201 characters, expected at most 200"),
        ("a\nb", "topic 'a\\nb' holds a control character or a line break"),
        ("a\x00b", "topic 'a\\x00b' holds a control character or a line break"),
        ("a\u2028b", "topic 'a\\u2028b' holds a control character or a line break"),
        ("a\ud800b", "topic 'a\\ud800b' holds a control character or a line break"),
    ],
)
def test_no_names(name, problem):
    """What would break a table, a database or a page is refused."""
    assert name_problem(name, "topic") == problem
