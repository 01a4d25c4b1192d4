"""Without scikit-learn the line to type is told."""

import subprocess
import sys

import pytest

from adjudge.learn import scikit


@pytest.mark.parametrize("module", ["ranksvm", "lambdamart", "rerank"])
def test_without_the_extra_the_line_to_type_is_told(module):
    """When a room that needs it is entered."""
    program = (
        "import sys; sys.modules['sklearn'] = None\n"
        f"try:\n    import adjudge.learn.{module}\nexcept Exception as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "MissingExtra learning to rank needs 'adjudge[learn]', which is not installed: pip install 'adjudge[learn]'\n"
    )


def test_what_is_used_is_there():
    """And nothing else is passed on."""
    assert all(hasattr(scikit, name) for name in scikit.__all__)
