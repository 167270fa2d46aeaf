"""Formulas of the documentation as MathML, made when the site is built, so that showing them fetches nothing.

A Markdown extension. `pymdownx.arithmatex` finds the formulas between dollar signs, this makes MathML of them with
latex2mathml; formulas of docstrings (``:math:`x```) are found here.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor
from markdown.postprocessors import Postprocessor

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
_TAG = re.compile(r"\\tag\{(.*?)\}")


class MathML(Extension):
    """Shows formulas as MathML."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is Markdown's
        """Look for formulas of docstrings before code, and turn formulas into MathML after everything else."""
        md.inlinePatterns.register(_FormulaOfDocstring(r":math:`([^`]+)`", md), "formula-of-docstring", 195)
        md.postprocessors.register(_FormulasToMathML(md), "formulas-to-mathml", 5)


class _FormulaOfDocstring(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Any, int, int]:  # noqa: N802
        text = self.unescape(m.group(1))
        return self.md.htmlStash.store(_to_mathml(text, "inline")), m.start(0), m.end(0)


class _FormulasToMathML(Postprocessor):
    def run(self, text: str) -> str:
        text = _INLINE.sub(lambda found: _to_mathml(unescape(found.group(1)), "inline"), text)
        return _BLOCK.sub(lambda found: _show_block(unescape(found.group(1))), text)


def _show_block(formula: str) -> str:
    tag = _TAG.search(formula)
    shown = _to_mathml(_TAG.sub("", formula), "block")
    number = f'<span class="formula-number">({escape(tag.group(1))})</span>' if tag else ""
    return f'<div class="formula">{shown}{number}</div>'


def _to_mathml(formula: str, display: str) -> str:
    shown = str(convert(formula.strip(), display=display))
    unknown = re.findall(r"\\[A-Za-z]+", shown)
    if unknown:
        raise ValueError(f"latex2mathml does not know {', '.join(sorted(set(unknown)))} in {formula.strip()}")
    return shown


def makeExtension(**options: Any) -> MathML:  # noqa: N802 - the name is Markdown's
    """What Markdown calls to load this module by its name."""
    return MathML(**options)
