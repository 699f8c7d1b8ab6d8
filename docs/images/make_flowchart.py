"""Draw should_i_use_it.svg, the flowchart of docs/index.md."""

from html import escape
from pathlib import Path

QUESTIONS = (
    (
        "Do you split many budgets (items, campaigns, shops) between two or more channels?",
        "no",
        "One national series: a media mix model. One on/off treatment: EconML.",
    ),
    (
        "Do you ask how to split a given budget, not how large it should be?",
        "no",
        "Not this: ReAlloc takes the budget as given.",
    ),
    (
        "Were the splits ever changed, and logged with the outcome?",
        "no",
        "Nothing to learn yet: explore small random moves, and log their chances.",
    ),
    (
        "Is what drove the splits in the log, or were they drawn at random?",
        "no",
        "A hidden cause may carry the gains: look at the robustness of every move.",
    ),
    (
        "Are there at least 50 rows of 10 units, better thousands?",
        "no",
        "It will keep every mix, and say how many rows would help.",
    ),
)
GOAL = "realloc init, check, fit, then realloc evaluate, then a small A/B test"
WIDTH, STEP, BOX = 940, 84, 52


def box(x: int, y: int, width: int, text: str, kind: str) -> str:
    """A box with its text in at most two lines."""
    words = text.split()
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > width // 8:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    shown: list[str] = []
    for number, line in enumerate(lines):
        baseline = y + BOX / 2 + 5 + 18 * (number - (len(lines) - 1) / 2)
        shown.append(f'<text x="{x + 14}" y="{baseline:.0f}">{escape(line)}</text>')
    rect = f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{BOX}" rx="8"/>'
    return rect + "".join(shown)


def draw() -> str:
    """The picture; colours follow the reader's light or dark mode."""
    parts = []
    for number, (question, answer, advice) in enumerate(QUESTIONS):
        y = 10 + STEP * number
        middle = y + BOX / 2
        parts.append(box(10, y, 470, question, "ask"))
        parts.append(f'<path d="M480 {middle}h60m-8 -5l8 5l-8 5"/>')
        parts.append(f'<text x="494" y="{middle - 6}">{answer}</text>')
        parts.append(box(540, y, 390, advice, "stop"))
        parts.append(f'<path d="M240 {y + BOX}v{STEP - BOX}m-5 -8l5 8l5 -8"/>')
        parts.append(f'<text x="250" y="{y + BOX + 21}">yes</text>')
    height = 10 + STEP * len(QUESTIONS)
    parts.append(box(10, height, 470, GOAL, "go"))
    style = (
        "text{font:14px sans-serif;fill:#222}rect{stroke:#888}"
        "path{stroke:#888;fill:none;stroke-width:1.5}"
        ".ask{fill:#eef3fb}.stop{fill:#f6f1e7}.go{fill:#e3f4e6}"
        "@media(prefers-color-scheme:dark){text{fill:#eee}.ask{fill:#22304a}"
        ".stop{fill:#40382a}.go{fill:#204028}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {WIDTH} {height + BOX + 10}">'
        f"<title>Should I use ReAlloc?</title><style>{style}</style>{''.join(parts)}</svg>\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("should_i_use_it.svg").write_text(draw(), encoding="utf-8")
