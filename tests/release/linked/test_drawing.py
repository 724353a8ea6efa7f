"""The drawing of linked tables."""

from __future__ import annotations

import re

import incrowd as ic
from incrowd.release.linked.drawing import svg_of_joins


def test_the_drawing_has_every_text_as_a_text():
    tables = [ic.LinkedTable("<b>"), ic.LinkedTable("visit", join={"<img src=x>": '<b>."><script>'})]
    drawing = svg_of_joins(tables, {"<b>": 1, "visit": 2_000})
    elements = set(re.findall(r"<(\w+)", drawing))
    assert elements == {"svg", "path", "rect", "text"}
    assert "its &lt;img src=x&gt; is &lt;b&gt;.&quot;&gt;&lt;script&gt;" in drawing
    assert "2,000 rows" in drawing
    long = svg_of_joins([ic.LinkedTable("n" * 900)], {"n" * 900: 1})
    assert re.search(">n{22}[.]{3}<", long)
    assert "n" * 900 in long
