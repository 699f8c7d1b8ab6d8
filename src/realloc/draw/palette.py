"""The colours of pages and figures, light and dark, apart from each other for colour-blind readers.

Ten colours of channels and a few of meaning. Gains are blue and losses orange, never green and red.
"""

from collections.abc import Iterator

# Light and dark, by the name of the CSS variable.
COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#12171d"),
    "card": ("#f5f7f9", "#1b222b"),
    "ink": ("#1b2631", "#e5eaf0"),
    "soft": ("#566573", "#9fadba"),
    "line": ("#dfe4ea", "#2d3844"),
    "rule": ("#9aa7b3", "#67747f"),
    "gain": ("#1f66ad", "#62a8ea"),
    "loss": ("#b65708", "#eb9a4b"),
    "good": ("#14713d", "#4cc27e"),
    "bad": ("#a3261b", "#ef7a6d"),
    "wait": ("#8a5a00", "#e0ab4a"),
    "region": ("#d6e4f2", "#22384f"),
}
# Of channels: (light, dark); ink to write on the first, ink to write on the second.
CHANNELS: tuple[tuple[str, str], ...] = (
    ("#2a6fb0", "#5fa2e0"),
    ("#e39a2d", "#eeb050"),
    ("#257f66", "#52bd9e"),
    ("#b0528f", "#d98abd"),
    ("#75b8de", "#a9dcf5"),
    ("#a03c2c", "#de7561"),
    ("#8f8a2a", "#c9c25a"),
    ("#5d4a9c", "#9e8fdc"),
)
OTHER = ("#8994a0", "#7d8894")  # channels beyond the palette
DARK_INK = "#10171e"
WHITE_INK = "#ffffff"


def look_of(channel: int) -> str:
    """The class that colours a channel by its place in the schema."""
    return f"c{channel}" if channel < len(CHANNELS) else "cx"


def palette_css() -> str:
    """The variables for light pages, dark pages, and notebooks that say which they are."""
    light = "".join(_variables(0))
    dark = "".join(_variables(1))
    looks = "".join(
        f".drawing .{name},.realloc .{name}{{color:var(--{name})}}"
        f".drawing .on-{name}{{fill:var(--on-{name})}}"
        for name in _channel_names()
    )
    return (
        f".realloc{{color-scheme:light;{light}}}"
        f"@media (prefers-color-scheme:dark){{.realloc{{color-scheme:dark;{dark}}}}}"
        f'[data-jp-theme-light="true"] .realloc,.vscode-light .realloc{{'
        f"color-scheme:light;{light}}}"
        f'[data-jp-theme-light="false"] .realloc,.vscode-dark .realloc{{'
        f"color-scheme:dark;{dark}}}"
        f"{looks}"
    )


def ink_on(colour: str) -> str:
    """The ink, dark or white, that stands out more on a colour."""
    return max((WHITE_INK, DARK_INK), key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours by WCAG, from 1 to 21.

    >>> contrast("#ffffff", "#000000")
    21.0
    """
    light = [luminance(colour) + 0.05 for colour in (one, other)]
    return max(light) / min(light)


def luminance(colour: str) -> float:
    """How light a colour is, from 0 to 1."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channel_names() -> list[str]:
    return [*(f"c{k}" for k in range(len(CHANNELS))), "cx"]


def _variables(side: int) -> Iterator[str]:
    for name, pair in COLOURS.items():
        yield f"--{name}:{pair[side]};"
    for name, pair in zip(_channel_names(), (*CHANNELS, OTHER), strict=True):
        yield f"--{name}:{pair[side]};--on-{name}:{ink_on(pair[side])};"
