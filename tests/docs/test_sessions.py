"""Whoever copies a tutorial block by block sees what the page says."""

from __future__ import annotations

import pytest
from scripts.page_blocks import ROOT, every_page, is_session, read
from scripts.page_session import missing, outputs
from scripts.wildcards import matches

SESSIONS = [page for page in every_page() if is_session(page)]


def shown_wrongly(name, text):
    """The blocks of a page that print something else than it says."""
    found = []
    for step, printed in outputs(name, text):
        said = step.shown.code if step.shown else ""
        if not matches(said, printed):
            found.append(f"{name}, line {step.run.last + 1}, prints:\n{printed}\n")
    return "\n".join(found)


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_prints_what_it_says(page):
    lacking = missing(read(page))
    if lacking:
        pytest.skip(f"needs {', '.join(lacking)}")
    wrong = shown_wrongly(page.name, read(page))
    assert not wrong, f"{wrong}\nRefresh: python -m scripts.refresh_outputs {page}"


def test_there_are_tutorials():
    names = {"scikit-learn", "four-hospitals", "research", "tuning", "upgrade"}
    assert {page.stem for page in SESSIONS} >= names


PAGE = """
```python
name = "python"
print(name)
```

```text
{output}
```
"""


def test_a_page_that_prints_something_else_is_found():
    assert not shown_wrongly("page.md", PAGE.format(output="py...n"))
    assert "prints:\npython" in shown_wrongly("page.md", PAGE.format(output="bash"))
    silent = PAGE.split("```text")[0]
    assert "prints:\npython" in shown_wrongly("page.md", silent)
