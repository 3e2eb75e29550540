"""Check the built documentation: every link leads somewhere, nothing needs the network.

python scripts/check_site.py docs/_build/html
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src"}
"""What a browser fetches by itself when it shows a page."""


class Page(HTMLParser):
    """The links, the loaded files and the anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element names."""
        given = {name: value for name, value in attrs if value}
        self.anchors.update(given[key] for key in ("id", "name") if key in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") in {"stylesheet", "icon", "preload"}:
            self.loaded.append(given["href"])
        if tag in LOADED and LOADED[tag] in given:
            self.loaded.append(given[LOADED[tag]])


def faults(site: Path) -> list[str]:
    """Return what is wrong with a site, a line each."""
    pages = {path: Page(path) for path in _pages(site)}
    found = [] if pages else [f"{site} holds no page. Build it first: make docs."]
    for path, page in pages.items():
        where = path.relative_to(site)
        for target in page.loaded:
            if urlsplit(target).netloc:
                found.append(f"{where} loads {target} from the network.")
        for target in [*page.links, *page.loaded]:
            fault = _broken(path, target, pages)
            found += [f"{where}: {target} {fault}"] if fault else []
    return found


def _pages(site: Path) -> list[Path]:
    static = site / "_static"  # templates of the theme are among its files
    every = sorted(site.rglob("*.html"))
    return [path for path in every if not path.is_relative_to(static)]


def _broken(path: Path, target: str, pages: dict[Path, Page]) -> str | None:
    """Return what is wrong with a link, or None."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None  # elsewhere: `sphinx-build -b linkcheck` asks those
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if there.is_dir():
        there /= "index.html"
    if not there.exists():
        return "does not exist."
    known = pages.get(there)
    anchor = unquote(parts.fragment)
    if anchor and known and anchor not in known.anchors:
        return "has no such anchor."
    return None


def main() -> int:
    """Check the site that is named on the command line."""
    site = Path(sys.argv[1]).resolve()
    found = faults(site)
    for line in found:
        print(line, file=sys.stderr)
    print(f"{len(_pages(site))} pages, {len(found)} faults.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
