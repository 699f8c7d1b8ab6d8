"""What every figure keeps: a sentence, a description, numbers, safe names, words where empty."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from realloc.base.errors import ConfigError
from realloc.draw.figure import WIDTH, key
from tests.draw.drawn import EMPTY, FIGURES, HOSTILE, parse, texts


def tags_and_attributes(html: str) -> tuple[set[str], set[str]]:
    tags: set[str] = set()
    attributes: set[str] = set()
    reader = HTMLParser()

    def begin(tag, attrs):
        tags.add(tag)
        attributes.update(name for name, _ in attrs)

    reader.handle_starttag = begin
    reader.handle_startendtag = begin
    reader.feed(html)
    return tags, attributes


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_says_what_to_see_and_holds_its_numbers(name):
    figure = FIGURES[name]
    drawing = parse(figure)
    assert drawing.attrib["role"] == "img"
    assert [child.tag for child in drawing][:2] == ["title", "desc"]
    assert drawing[0].text == figure.title
    assert drawing[1].text == figure.sentence
    assert figure.sentence.rstrip().endswith(".")
    assert figure.rows
    assert all(len(row) == len(figure.heads) for row in figure.rows)


@pytest.mark.parametrize("name", FIGURES)
def test_names_from_the_data_are_text_and_long_ones_are_cut_off(name):
    shown = FIGURES[name].__html__()
    assert "<b" not in shown
    assert 'onclick="' not in shown
    assert all(len(text) < len(HOSTILE) for text in texts(FIGURES[name]))


@pytest.mark.parametrize("name", FIGURES)
def test_a_strict_content_policy_lets_the_figure_pass(name):
    tags, attributes = tags_and_attributes(FIGURES[name].__html__())
    assert not tags & {
        "script",
        "style",
        "link",
        "image",
        "iframe",
        "foreignobject",
        "a",
        "use",
    }
    assert not attributes & {"style", "href", "src", "xlink:href"}
    assert not {name for name in attributes if name.startswith("on")}


@pytest.mark.parametrize("name", FIGURES)
def test_every_mark_lies_inside_the_drawing(name):
    figure = FIGURES[name]
    for mark in parse(figure).iter():
        for attribute, end in (("x", WIDTH), ("cx", WIDTH), ("x1", WIDTH), ("x2", WIDTH)):
            assert 0 <= float(mark.attrib.get(attribute, 0)) <= end
        for attribute in ("y", "cy", "y1", "y2"):
            assert -2 <= float(mark.attrib.get(attribute, 0)) <= figure.height + 2
        assert "nan" not in " ".join(mark.attrib.values()).lower()


@pytest.mark.parametrize("name", EMPTY)
def test_where_there_is_nothing_to_draw_a_sentence_says_why(name):
    figure = EMPTY[name]
    assert figure.empty
    assert figure.svg() == ""
    assert len(figure.sentence.split()) >= 4
    assert "<svg" not in figure.__html__()
    assert figure.sentence in figure.markdown()
    with pytest.raises(ConfigError, match="There is nothing to draw"):
        figure.save("nowhere.svg")


def test_a_page_folds_the_numbers_behind_the_figure():
    shown = FIGURES["counts"].__html__()
    assert "<details><summary>Show numbers</summary>" in shown
    assert ">75 %</td>" in shown


def test_a_saved_figure_brings_its_style(tmp_path):
    FIGURES["mix"].save(tmp_path / "mix.svg")
    saved = ElementTree.parse(tmp_path / "mix.svg").getroot()  # noqa: S314
    style = next(iter(saved.iter("{http://www.w3.org/2000/svg}style"))).text
    assert style is not None
    assert "--paper:#ffffff" in style
    assert "prefers-color-scheme:dark" in style


def test_a_notebook_gets_style_and_drawing():
    shown = FIGURES["mix"]._repr_html_()
    assert shown.startswith('<div class="realloc note-book"><style>')
    assert "<svg" in shown


def test_a_legend_that_does_not_fit_says_so():
    entries = [("c0 fill", f"a rather long name {k}") for k in range(9)]
    assert "…" in key(entries)[-1]
