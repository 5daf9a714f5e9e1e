"""README is true: its Python runs and prints what it shows, its set-up commands are those that the checks run."""

import re
import tomllib
from pathlib import Path

from tests.notes import documents

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_python_prints_what_is_shown(tmp_path):
    wrong = documents.wrong_documents({"README": README}, tmp_path)
    assert not wrong, "\n".join(wrong)
    assert documents.prints(documents.session(README)) >= 2


def test_it_is_a_shop_window():
    assert len(README.splitlines()) <= 200
    first = documents.blocks(README, "python")[0]
    code = [line for line in first.splitlines() if line.strip()]
    assert len(code) <= 17 and "njit" in first and "contad.grad" in first


def test_it_lists_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = README.partition("| extra |")[2].partition("\n\n")[0].splitlines()[2:]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])} == set(extras)


# ---- set-up ----------------------------------------------------------------------------------------------------------
def setup_commands(readme, script):
    """The README lines that .ci/run takes by each of its patterns, and all set-up lines that README shows."""
    patterns = re.findall(r"\$\(readme_command '(.*)'\)", script)
    taken = [[line for line in readme.splitlines() if re.fullmatch(pattern, line)] for pattern in patterns]
    return taken, [block.strip() for block in documents.blocks(readme, "sh") if ".venv" in block]


def test_ci_runs_every_setup_command():
    taken, offered = setup_commands(README, (ROOT / ".ci" / "run").read_text())
    assert taken == [[command] for command in offered]
    assert len(offered) == 3
    assert offered[0].endswith("python -m contad")
    assert offered[1].endswith("python -m pytest -n auto")
    assert offered[2].endswith("mkdocs build --strict")


def test_a_setup_command_that_ci_does_not_run_is_found():
    script = "a=$(readme_command 'python3 -m venv .* -m contad')\n"
    readme = "```sh\npython3 -m venv .venv && pip install . && python -m contad --json\n```\n"
    taken, offered = setup_commands(readme, script)
    assert taken != [[command] for command in offered]
