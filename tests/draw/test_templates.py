"""Templates escape what they show and refuse names they do not know."""

import pytest
from jinja2 import UndefinedError

from realloc.draw import Paragraph, environment, style


def test_values_are_escaped_and_pieces_are_not():
    template = environment().from_string("{{ name }} {{ piece }}")
    assert template.render(name="<i>", piece=Paragraph("x")) == "&lt;i&gt; <p>x</p>"


def test_an_unknown_name_is_an_error():
    with pytest.raises(UndefinedError, match="'nothing' is undefined"):
        environment().from_string("{{ nothing }}").render()


def test_the_style_follows_the_reader_between_light_and_dark():
    assert (
        "@media (prefers-color-scheme:dark){.realloc{color-scheme:dark;--paper:" in style()
    )
    assert '[data-jp-theme-light="false"] .realloc' in style()
