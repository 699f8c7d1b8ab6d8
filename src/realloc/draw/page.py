"""Pages that need nothing else: no script, no style sheet, no picture from elsewhere."""

import re
from collections.abc import Sequence
from html import escape

STYLE = """
:root {
  color-scheme: light dark; --paper: #fff; --ink: #1c2733; --soft: #55636f; --line: #dde3e9;
  --rule: #9aa7b3; --good: #14713d; --bad: #a3261b; --wait: #8a5a00; --bar: #2b6cb0; --dot: #1a4b80;
}
@media (prefers-color-scheme: dark) { :root {
  --paper: #14191f; --ink: #e3e8ee; --soft: #9aa8b5; --line: #2c3640; --rule: #66737f;
  --good: #4cc27e; --bad: #ef7a6d; --wait: #e0ab4a; --bar: #5a9be0; --dot: #9cc6f5;
} }
body {
  font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper);
}
h1 { font-size: 1.6rem; margin-bottom: .8rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
p { margin: .4rem 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; min-width: 50%; }
th, td {
  text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0;
  border-bottom: 1px solid var(--line);
}
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; }
.number { text-align: right; white-space: nowrap; }
td.name { white-space: nowrap; }
.verdict { font-size: 1.15rem; border-left: .4rem solid; padding-left: .8rem; }
.good { border-color: var(--good); }
.bad { border-color: var(--bad); }
.wait { border-color: var(--wait); }
.missing { border-left: .25rem solid var(--wait); padding-left: .7rem; }
.note { color: var(--soft); }
svg { display: block; max-width: 100%; min-width: 32rem; height: auto; }
@media (max-width: 40rem) { td.name { white-space: normal; } }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg text.tick { fill: var(--soft); }
svg line { stroke: var(--rule); }
svg .bar { stroke: var(--bar); stroke-width: 3; }
svg .dot { fill: var(--dot); }
svg .limit { stroke: var(--bad); stroke-width: 2; stroke-dasharray: 3 2; }
svg .grid { stroke: var(--line); }
"""
NUMERIC = set("0123456789+-−<[(–")  # what the text of a number starts with


def page(title: str, parts: Sequence[str]) -> str:
    """A page of these parts under its title."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>\n"
    )


def heading(text: str) -> str:
    """The heading of a section."""
    return f"<h2>{escape(text)}</h2>"


def paragraph(text: str, look: str = "") -> str:
    """A paragraph with `names` set as code; `look` is one of the classes of the style."""
    mark = f' class="{look}"' if look else ""
    return f"<p{mark}>{_prose(text)}</p>"


def verdict_box(text: str, tone: str) -> str:
    """What to do, in one paragraph; `tone` is good, wait or bad."""
    return paragraph(text, f"verdict {tone}")


def bullets(texts: Sequence[str]) -> str:
    """Sentences as a list, with `names` set as code."""
    return f"<ul>{''.join(f'<li>{_prose(text)}</li>' for text in texts)}</ul>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Texts as a table that scrolls on a narrow screen; numbers after the first column go right."""
    marks = [' class="name"']
    for column in range(1, len(heads)):
        is_number = all(row[column][:1] in NUMERIC for row in rows if row[column])
        marks.append(' class="number"' if is_number else "")
    lines = [_row("th", marks, heads), *(_row("td", marks, row) for row in rows)]
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'


def _row(tag: str, marks: Sequence[str], cells: Sequence[str]) -> str:
    pairs = zip(marks, cells, strict=True)
    return f"<tr>{''.join(f'<{tag}{mark}>{escape(cell)}</{tag}>' for mark, cell in pairs)}</tr>"


def _prose(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
