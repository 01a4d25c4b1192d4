"""Run the studies of papers 000 and 003, and write their pages and figures: ``python -m studies.pages``.

All numbers of these pages are computed here, from the same sets as in ``python -m studies``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from adjudge.data.write import write_whole
from studies import paper_000, paper_003
from studies.markdown import Page
from studies.memory import memory
from studies.outcome import StudyOptions
from studies.spectrum import spectrum
from studies.trec2011 import trec2011


def relevance_page(options: StudyOptions) -> Page:
    """Return the page of paper 000."""
    return paper_000.page(trec2011(options))


def spectrum_page(options: StudyOptions) -> Page:
    """Return the page of paper 003."""
    return paper_003.page(spectrum(options), memory(options))


PAGES: tuple[Callable[[StudyOptions], Page], ...] = (spectrum_page, relevance_page)


def main(folder: str, options: StudyOptions) -> None:
    """Write all pages to a folder, each as soon as it is finished."""
    for page in PAGES:
        began = time.perf_counter()
        files = {name: text.encode() for name, text in page(options).items()}
        write_whole(files, folder)
        print(f"wrote {', '.join(files)} to {folder} ({time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/explanation/papers", StudyOptions(workers=os.cpu_count() or 1))
