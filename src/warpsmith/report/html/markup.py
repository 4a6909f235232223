"""Auto-escaping HTML builder: plain text is always escaped; only what these functions made stays unchanged."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias


class Html(str):
    """Text that is markup already. Whatever is made of it by other means than the functions here is plain text again."""

    __slots__ = ()


Content: TypeAlias = str | Html

_VOID = frozenset({"input", "meta"})
NOTHING = Html()
_COLUMNS_OF_A_PHONE = 3


def escaped(content: Content) -> Html:
    return content if isinstance(content, Html) else Html(html.escape(content))


def joined(parts: Iterable[Content], separator: str = "") -> Html:
    return Html(separator.join(escaped(part) for part in parts))


def element(tag: str, *content: Content, **attributes: str | int | bool | None) -> Html:
    """`element("p", "a < b", class_="note")`. An attribute that is None or False is left out, one that is True has no value."""
    named = "".join(_attribute(name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    return Html(f"<{tag}{named}>") if tag in _VOID else Html(f"<{tag}{named}>{joined(content)}</{tag}>")


def _attribute(name: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page, which its list of contents leads to."""

    anchor: str
    title: str
    content: Html

    @property
    def html(self) -> Html:
        named = f"{self.anchor}-title"
        return element("section", element("h2", self.title, id=named), self.content, id=self.anchor, aria_labelledby=named)


def section(anchor: str, title: str, *content: Content) -> Section:
    return Section(anchor, title, joined(content))


# ── what sections are made of ──


def paragraphs(texts: Iterable[Content], *, class_: str | None = None) -> Html:
    return joined(element("p", text, class_=class_) for text in texts)


def bullets(items: Iterable[Content]) -> Html:
    listed = [element("li", item) for item in items]
    return element("ul", *listed) if listed else NOTHING


def folded(summary: Content, *content: Content) -> Html:
    """Shown when asked for."""
    return element("details", element("summary", summary), *content)


def figure(svg: str, caption: Content, *, class_: str | None = None) -> Html:
    return element("figure", Html(svg), element("figcaption", caption) if caption else NOTHING, class_=class_)


def definitions(entries: Iterable[tuple[Content, Content]], *, class_: str | None = None) -> Html:
    pairs = [element("div", element("dt", name), element("dd", value)) for name, value in entries]
    return element("dl", *pairs, class_=class_) if pairs else NOTHING


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Content]],
    *,
    numbers: Iterable[int] = (),
    shown_caption: bool = True,
    cards: bool = True,
    **attributes: Any,
) -> Html:
    """The first cell of each row is its header; columns in `numbers` are aligned to the right.

    Scrolls sideways where it must. On a phone each row of many cells is a card that names them, unless they stand for themselves.
    """
    right = frozenset(numbers)
    labels = columns if cards and len(columns) > _COLUMNS_OF_A_PHONE else ()
    if labels:
        attributes["class_"] = " ".join(["cards", *([attributes["class_"]] if attributes.get("class_") else [])])
    head = [element("th", name, scope="col", class_="number" if at in right else None) for at, name in enumerate(columns)]
    body = [
        element(
            "tr",
            *(
                _cell(cell, labels[at] if labels else None, is_header=at == 0, is_number=at in right)
                for at, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    said = element("caption", caption, class_=None if shown_caption else "unseen")
    whole = element("table", said, element("thead", element("tr", *head)), element("tbody", *body), **attributes)
    return element("div", whole, class_="wide", role="region", aria_label=caption, tabindex=0)


def _cell(content: Content, label: str | None, *, is_header: bool, is_number: bool) -> Html:
    class_ = "number" if is_number else None
    if is_header:
        return element("th", content, scope="row", class_=class_)
    return element("td", content, class_=class_, data_column=label)
