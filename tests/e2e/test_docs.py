"""What the documentation shows must be so: its code runs, its TOML loads, its links lead somewhere, its commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
import typer

from warpsmith import settings
from warpsmith.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])
IDS = [str(page.relative_to(ROOT)) for page in PAGES]


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_python_runs(page: Path, tmp_path: Path):
    for code in _blocks(page, "python"):
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{code}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_toml_parses(page: Path):
    for text in _blocks(page, "toml"):
        tomllib.loads(text)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_exist(page: Path):
    known = {command.name for command in app.registered_commands}
    for command in re.findall(
        r"`?\bwarpsmith ([a-z]+)\b", " ".join(_blocks(page, "console") + re.findall(r"`[^`\n]+`", page.read_text()))
    ):
        assert command in known, command
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake ([a-z]+)\b", " ".join(_blocks(page, "console"))):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_site_and_the_indexes_have_every_page():
    docs = ROOT / "docs"
    site = (ROOT / "mkdocs.yml").read_text()
    indexes = "".join(page.read_text() for page in docs.rglob("README.md"))
    for page in docs.glob("*/*.md"):
        name = page.relative_to(docs).as_posix()
        assert f"- {name}\n" in site
        assert f"]({name})" in indexes or f"]({page.name})" in indexes, name


def test_the_page_of_settings_has_every_variable():
    listed = set(re.findall(r"^\| `(WARPSMITH_\w+)`", (ROOT / "docs" / "reference" / "settings.md").read_text(), re.MULTILINE))
    assert listed == set(re.findall(r'"(WARPSMITH_\w+)"', Path(settings.__file__).read_text()))


def test_the_guide_has_every_pass():
    text = (ROOT / "docs" / "guides" / "from-the-original.md").read_text()
    table = text[text.index("| pass |") :].split("\n\n", 1)[0]
    first_cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    listed = sorted(name for cell in first_cells for name in re.findall(r"`(\w+)`", cell))
    assert listed == sorted(e.name for e in distribution("warpsmith").entry_points if e.group == "warpsmith.passes")


@pytest.mark.parametrize("name", sorted(command.name or "" for command in app.registered_commands))
def test_the_row_of_a_command_has_its_options(name: str):
    text = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    (row,) = re.findall(rf"^\| `warpsmith {name}(?![\w-])([^`]*)` \|", text, re.MULTILINE)
    said = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", row))
    command = typer.main.get_command(app).commands[name]
    spelled = [{*p.opts, *p.secondary_opts} for p in command.params if p.param_type_name == "option"]
    # Said once for all of them.
    assert ({"--json"} in spelled) == (name != "mcp")
    for spellings in spelled:
        assert spellings == {"--json"} or spellings & said, f"{spellings} is not in the row"
    assert said <= set().union(*spelled), "the row has an option that is not there"
