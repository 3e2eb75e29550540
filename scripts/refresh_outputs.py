"""Run pages of the documentation, and write what they print into their text blocks.

    python -m scripts.refresh_outputs docs/tutorials/scikit-learn.md ...

Without a page, all pages that are sessions are run. Wildcards (`...`) stay where they
still match. A block that prints and has no text block after it gets one; an empty one
goes. No output of a page is typed by hand.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from scripts.page_blocks import Step, every_page, is_session, read
from scripts.page_session import missing, outputs
from scripts.wildcards import renewed


def refresh(page: Path) -> bool:
    """Run a page and rewrite it; return whether that changed it."""
    text = read(page)
    lines = text.splitlines()
    ran = list(outputs(page.name, text))
    for step, printed in reversed(ran):  # so that line numbers stay true
        _put(lines, step, printed)
    fresh = "\n".join(lines) + "\n"
    if fresh != text:
        page.write_text(fresh, encoding="utf-8")
    return fresh != text


def _put(lines: list[str], step: Step, printed: str) -> None:
    """Put what a block printed below it, in place of what stood there."""
    first = last = step.run.last
    old = ""
    if step.shown:
        last, old = step.shown.last, step.shown.code
    shown = ["", "```text", renewed(old, printed), "```"] if printed else []
    lines[first:last] = shown


def main(names: list[str]) -> None:
    """Refresh the pages that are named, or all."""
    # Ended from outside, it still ends what its pages have started.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    given = [Path(name).resolve() for name in names]
    for page in given or filter(is_session, every_page()):
        lacking = missing(read(page))
        if lacking:
            print(f"{page.name}: skipped, needs {', '.join(lacking)}", flush=True)
            continue
        changed = refresh(page)
        print(f"{page.name}: {'rewritten' if changed else 'unchanged'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
