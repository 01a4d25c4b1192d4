"""``python -m studies``: run one study by name, or list them."""

from adjudge.cli import run_app
from studies.command import app

if __name__ == "__main__":
    run_app(app, "python -m studies")
