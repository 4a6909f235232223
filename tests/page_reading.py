"""Reads a page as a browser would, as far as tests need it: well-formed, ids once, nothing fetched, and its words."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"meta", "input"}
_FETCHING = {"src", "href", "xlink:href", "data", "srcset", "poster", "action"}


class Page(HTMLParser):
    """`text` is what people read, `scripts` what would run, `tables` the rows of each table by its caption."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self.styles = ""
        self.tables: dict[str, list[list[str]]] = {}
        self._caption = ""
        self.feed(markup)
        self.close()
        assert not self.open, f"never closed: {self.open}"
        assert len(self.ids) == len(set(self.ids)), sorted(i for i in self.ids if self.ids.count(i) > 1)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.tags.append((tag, known))
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name in _FETCHING and value]
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        if tag == "script":
            self.scripts.append("")
        if tag == "caption":
            self._caption = ""
        if tag == "tr" and self._caption:
            self.tables.setdefault(self._caption, []).append([])
        if tag in {"th", "td"} and self._caption:
            self.tables[self._caption][-1].append("")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "script" in self.open:
            self.scripts[-1] += data
        elif "style" in self.open:
            self.styles += data
        else:
            self.text += data
            if "caption" in self.open:
                self._caption += data
            elif {"th", "td"} & set(self.open) and "table" in self.open and self._caption:
                self.tables[self._caption][-1][-1] += data

    def assert_alone(self) -> None:
        """Nothing comes from elsewhere, and nothing runs but the page's own script."""
        assert all(link.startswith("#") for link in self.links), self.links
        assert {link[1:] for link in self.links} <= set(self.ids), "links lead somewhere"
        assert "url(" not in self.styles
        assert "@import" not in self.styles
        assert len(self.scripts) == 1

    def assert_accessible(self) -> None:
        """Pictures have words, tables have captions and headers, and the page says its language."""
        tags = [tag for tag, _ in self.tags]
        assert ("html", {"lang": "en"}) in self.tags
        assert all(known.get("aria-label") for tag, known in self.tags if tag == "svg")
        assert tags.count("table") == tags.count("caption") == tags.count("thead")
        assert all(known.get("scope") for tag, known in self.tags if tag == "th")
        assert tags.count("h1") == 1
