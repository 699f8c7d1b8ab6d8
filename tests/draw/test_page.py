"""Pages stand alone, and their own policy lets nothing but their style pass."""

import re
from base64 import b64encode
from hashlib import sha256

from realloc.draw import Paragraph, Part, page


def test_a_page_stands_alone_under_its_title():
    shown = page("Test of <May>", [Part("A & B", [Paragraph("fine")])], "all of it")
    assert shown.startswith("<!doctype html>")
    assert "<title>Test of &lt;May&gt;</title>" in shown
    assert "<h2>A &amp; B</h2><p>fine</p>" in shown
    assert "all of it" in shown
    assert not re.search(r"https?:|<script|<link|url\(|@import", shown)


def test_the_policy_of_the_page_is_the_digest_of_its_style():
    shown = page("x", [])
    style = re.search(r"<style>(.*?)</style>", shown, re.S)
    assert style is not None
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in shown
