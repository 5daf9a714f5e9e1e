"""README is true: its Python runs and prints what it shows, its set-up commands are those that the checks run."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import contad
from contad import table

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def files(text):
    """{name: source} of the blocks that begin with the name of a file."""
    named = [(re.match(r"# (\w+\.py)\n", block), block) for block in blocks(text, "python")]
    return {match[1]: block for match, block in named if match}


def session(text):
    """All other Python blocks, as one program."""
    return "\n".join(block for block in blocks(text, "python") if not re.match(r"# \w+\.py\n", block))


def shown(source):
    """What the comments after each print say it prints: on its line, or alone on the next."""
    return re.findall(r"^ *print\(.*\)(?:\n| {2,})# (.*)$", source, re.MULTILINE)


def test_python_prints_what_is_shown(tmp_path):
    source = session(README)
    path = tmp_path / "readme.py"
    path.write_text(source)
    done = subprocess.run([sys.executable, "-W", "error", path], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == shown(source)
    assert len(shown(source)) == len(re.findall(r"^ *print\(", source, re.MULTILINE)) >= 5


def test_blocks_and_shown_output_are_found():
    text = "# x\n```python\nprint(1)  # 1\nif x:\n    print(2)\n# two\n```\n```sh\nls\n```\n"
    text += "```python\n# model.py\ny = 1\n```\n"
    assert session(text) == "print(1)  # 1\nif x:\n    print(2)\n# two\n"
    assert shown(session(text)) == ["1", "two"]
    assert files(text) == {"model.py": "# model.py\ny = 1\n"}
    assert blocks(text, "sh") == ["ls\n"]


def measured_aside(output):
    """The lines of a report as words; of lines that hold measurements, the first word only."""
    lines = [line.split() for line in output.splitlines()]
    return [words[:1] if words[:1] in (["differences"], ["time"]) else words for words in lines]


def file_commands(text):
    """(command, output) of the commands on files, each with the output block that follows it."""
    return re.findall(
        r"^```sh\n(\.venv/bin/python [^\n]*\.py:[^\n]*)\n```\n+```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )


def test_command_on_a_file_prints_what_is_shown(tmp_path):
    for name, source in files(README).items():
        (tmp_path / name).write_text(source)
    ((command, output),) = file_commands(README)
    arguments = command.removeprefix(".venv/bin/python ").split()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert measured_aside(done.stdout) == measured_aside(output)


# ---- limits ----------------------------------------------------------------------------------------------------------
LIMITS = [
    line for line in re.split(r"\n(?=- )", README.partition("## Limits\n")[2].partition("\n## ")[0]) if line.strip()
]


def limit(words):
    """The one limit that these words are in."""
    (found,) = [text for text in LIMITS if words in " ".join(text.split())]
    return found


FLOATS = np.zeros(3)


def of_floats(x):
    a = FLOATS
    a += x
    return np.sum(a)


def added(x):
    a = np.zeros(3)
    a = a + x
    return np.sum(a)


def element(make):
    def f(x):
        a = make(3)
        a[0] = x[1]
        return np.sum(a)

    return f


@pytest.mark.parametrize(
    ("words", "refused", "remedy"),
    [
        ("`data.copy()`", element(lambda n: FLOATS.copy()), element(lambda n: np.array(FLOATS))),
        ("`a += x`", of_floats, added),
        ("`out=a`", lambda x: np.sum(np.exp(x, out=FLOATS)), lambda x: np.sum(np.exp(x, out=contad.zeros(3)))),
        ("`a.dot(x)`", lambda x: np.eye(3)[0].dot(x), lambda x: np.eye(3)[0] @ x),
        ("`where=`", lambda x: np.sum(x, where=x > 1.0), lambda x: np.sum(np.where(x > 1.0, x, 0.0))),
        ("`initial=`", lambda x: np.max(x, initial=1.5), lambda x: np.max(np.where(x > 1.5, x, 1.5))),
        ("`dtype=`", lambda x: np.sum(x, dtype=np.float32), np.sum),
        ("`np.unwrap`", lambda x: np.sum(np.unwrap(x)), lambda x: np.sum(np.unwrap(contad.to_matvar(x)))),
        ("`scipy.special.logsumexp`", scipy.special.logsumexp, contad.logsumexp),
    ],
)
def test_a_limit_holds_and_its_remedy_works(words, refused, remedy):
    assert limit(words)
    x = np.array([1.3, 0.7, 2.1])
    with pytest.raises(contad.ContadError):
        contad.grad(refused)(x)
    assert np.any(contad.grad(remedy)(x) != 0.0)


def test_what_object_arrays_refuse_is_what_the_table_says():
    refusals, _, _ = limit("Object arrays of variables are NumPy's").partition(" on them")
    names = re.findall(r"`(np\.\w+)`", refusals)
    assert len(names) >= 5
    assert set(names) <= {*table.NOT_ON_OBJECTS, *table.ufuncs_not_on_objects()}


# ---- set-up ----------------------------------------------------------------------------------------------------------
def setup_commands(readme, script):
    """The README lines that .ci/run takes by each of its patterns, and all set-up lines that README shows."""
    patterns = re.findall(r"\$\(readme_command '(.*)'\)", script)
    taken = [[line for line in readme.splitlines() if re.fullmatch(pattern, line)] for pattern in patterns]
    return taken, [block.strip() for block in blocks(readme, "sh") if "venv .venv" in block]


def test_ci_runs_both_setup_commands():
    taken, offered = setup_commands(README, (ROOT / ".ci" / "run").read_text())
    assert taken == [[command] for command in offered]
    assert len(offered) == 2
    assert offered[0].endswith("python -m contad")
    assert offered[1].endswith("python -m pytest -n auto")


def test_a_setup_command_that_ci_does_not_run_is_found():
    script = "a=$(readme_command 'python3 -m venv .* -m contad')\n"
    readme = "```sh\npython3 -m venv .venv && pip install . && python -m contad --json\n```\n"
    taken, offered = setup_commands(readme, script)
    assert taken != [[command] for command in offered]
