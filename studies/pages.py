"""Runs the studies of papers 000 and 003, and writes their pages with figures: ``python -m studies.pages``.

Every number of these pages comes from here. The sets are looked for where ``python -m studies`` looks.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from adjudge.data.write import write_whole
from studies import paper_000, paper_003
from studies.memory import memory
from studies.outcome import Asked
from studies.page import Page
from studies.spectrum import spectrum
from studies.trec2011 import trec2011


def relevance_page(asked: Asked) -> Page:
    """Return the page of paper 000."""
    return paper_000.page(trec2011(asked))


def spectrum_page(asked: Asked) -> Page:
    """Return the page of paper 003."""
    return paper_003.page(spectrum(asked), memory(asked))


PAGES: tuple[Callable[[Asked], Page], ...] = (spectrum_page, relevance_page)


def main(folder: str, asked: Asked) -> None:
    """Write all pages into a folder, each when it is finished."""
    for page in PAGES:
        began = time.perf_counter()
        files = {name: text.encode() for name, text in page(asked).items()}
        write_whole(files, folder)
        print(f"wrote {', '.join(files)} to {folder} ({time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/explanation/papers", Asked(workers=os.cpu_count() or 1))
