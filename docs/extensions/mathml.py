"""Formulas as MathML, which browsers draw themselves: no script and no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

# A norm's bars are as high as a line; one that is raised to a power would not stretch
# as the other one does.
_BAR = re.compile(r"<mo[^>]*>(&#x02016;|&#x0007C;)</mo>")


def _mathml(formula: str, display: str) -> str:
    return _BAR.sub(r'<mo stretchy="false">\1</mo>', convert(formula, display=display))


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    formula = _mathml(node.astext(), "block")
    translator.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
