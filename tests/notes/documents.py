"""Documents that are programs: their Python blocks and commands run, and give what the text shows.

The blocks of a document are one program, in their order. What a block prints is told by the comment behind each
`print`, or on the line below it; or by a block `text` that follows, in which `...` stands for anything. A block with
`title="Broken"` raises, and the block `text` that follows is the error. A block that begins with the name of a file is
that file. A command on files, `python -m contad model.py:f`, prints the block `text` that follows it.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import tests.judges.light_compiling  # noqa: F401  before contad

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w*)(?: title=\"(\w+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w/]+\.\w+)\n")
COMMAND = re.compile(
    r"^```(?:sh|console)\n(?:\$ )?(?:\.venv/bin/)?python -m contad ([^\n]*)\n```\n+```text\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
MARK = "\x1e"  # between what two blocks print
LIBRARIES = {"iminuit", "ipyopt", "lmfit", "mici", "nlopt", "sksundae", "walnutpie"}  # of the extra `adapters`


def blocks(text, language):
    """The blocks of a language."""
    return [body for name, _, body in BLOCK.findall(text) if name == language]


def files(text):
    """{name: source} of the blocks that begin with the name of a file."""
    named = [(FILE.match(body), body) for _, _, body in BLOCK.findall(text)]
    return {match[1]: body for match, body in named if match}


def program(text):
    """(title, source, the block `text` that follows or None) of each Python block that is run."""
    found = list(BLOCK.finditer(text))
    for k, match in enumerate(found):
        language, title, body = match.groups()
        if language == "python" and not FILE.match(body):
            after = found[k + 1] if k + 1 < len(found) else None
            follows = after and after[1] == "text" and not text[match.end() : after.start()].strip()
            yield title, body, after[3] if follows else None


def session(text):
    """All blocks that are run, as one program."""
    return "\n".join(source for _, source, _ in program(text))


def shown(source):
    """What the comments after each print say it prints: on its line, or alone on the next."""
    return re.findall(r"^ *print\(.*\)(?:\n| {2,})# (.*)$", source, re.MULTILINE)


def prints(source):
    """How many statements print."""
    return len(re.findall(r"^ *print\(", source, re.MULTILINE))


def commands(text):
    """(arguments, output) of the commands that show what they print."""
    return [(shlex.split(arguments), output) for arguments, output in COMMAND.findall(text)]


def needs(text):
    """The libraries of the extra `adapters` that a document imports."""
    imported = re.findall(r"^(?:import|from) (\w+)", session(text), re.MULTILINE)
    return LIBRARIES & set(imported)


# ---- a run -----------------------------------------------------------------------------------------------------------
def script(text):
    """The program of a document, which prints a mark after each block."""
    parts = []
    for title, source, _ in program(text):
        if title == "Broken":
            parts.append(f"try:\n{textwrap.indent(source, '    ')}\n")
            parts.append("except Exception as _error:\n    print(type(_error).__name__ + ':', _error)\n")
        else:
            parts.append(source)
        parts.append(f"print({MARK!r})\n")
    return "\n".join(parts)


def run_here(folder):
    """Runs the documents of a folder, in this process: {name: [what each block printed, and an error]}.

    Each has a folder of its own with its files, and is a module, as what a user imports.
    """
    results = {}
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # a module that is written anew is read anew
    for place in sorted(Path(folder).iterdir()):
        gc.freeze()  # the collector would walk again and again what the pages before have imported and compiled
        output = io.StringIO()
        os.chdir(place)
        sys.path.insert(0, str(place))
        error = None
        try:
            with contextlib.redirect_stdout(output), warnings.catch_warnings():
                importlib.import_module(f"page_{place.name}")
        except Exception as caught:
            error = "".join(traceback.format_exception(caught))
        sys.path.remove(str(place))
        results[place.name] = [output.getvalue().split(MARK + "\n"), error, _run_commands(place)]
    sys.dont_write_bytecode = written
    return results


def _run_commands(place):
    """What the commands of a document print."""
    from contad.command.interface import main

    outputs = []
    for arguments in json.loads((place / "commands.json").read_text()):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            main(arguments)
        outputs.append(output.getvalue())
    return outputs


def wrong_documents(documents, folder):
    """Runs documents, {name: text}, in one process; what is wrong with them, a line for each."""
    for name, text in documents.items():
        place = folder / re.sub(r"\W", "_", name)
        place.mkdir()
        for file, source in files(text).items():
            (place / file).parent.mkdir(exist_ok=True)
            (place / file).write_text(source.partition("\n")[2] if not file.endswith(".py") else source)
        (place / f"page_{place.name}.py").write_text(script(text))
        (place / "commands.json").write_text(json.dumps([arguments for arguments, _ in commands(text)]))
    command = [sys.executable, "-W", "error", "-m", "tests.notes.documents", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    if done.returncode:
        return [done.stderr]
    results = json.loads(done.stdout.splitlines()[-1])
    wrong = []
    for name, text in documents.items():
        outputs, error, answers = results[re.sub(r"\W", "_", name)]
        wrong += [f"{name}: {line}" for line in _differences(text, outputs, error, answers)]
    return wrong


def _differences(text, outputs, error, answers) -> Iterator[str]:
    if error:
        yield error
        return
    for (title, source, follows), output in zip(program(text), outputs, strict=False):
        if title == "Broken" and follows is None:
            yield f"no error is shown of\n{source}"
        elif follows is not None:
            if not agree(follows, output):
                yield f"shown\n{follows}printed\n{output}by\n{source}"
        elif output.splitlines() != shown(source) or len(shown(source)) != prints(source):
            yield f"shown {shown(source)}, printed {output.splitlines()} by\n{source}"
    for (arguments, expected), answer in zip(commands(text), answers, strict=True):
        if not agree(measured_aside(expected), measured_aside(answer)):
            yield f"shown\n{expected}printed\n{answer}by {' '.join(arguments)}"


def agree(expected, output):
    """Whether an output is what was shown, in which `...` stands for anything, and spaces for spaces."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in expected.split("...")]
    pattern = r"\s*(?:.|\n)*?\s*".join(parts)
    return re.fullmatch(rf"\s*{pattern}\s*", output) is not None


def measured_aside(output):
    """A report without what is measured: of lines that hold measurements, the first word only."""
    return re.sub(r"^( *(?:differences|time)\b).*$", r"\1", output, flags=re.MULTILINE)


# ---- links -----------------------------------------------------------------------------------------------------------
def dead_links(path):
    """The links of a document that lead to no file of the repository, or to no heading of it."""
    prose = BLOCK.sub("", path.read_text())
    found = re.findall(r"\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]+))?\)", prose)
    dead = []
    for link, anchor in found:
        target = (path.parent / link).resolve() if link else path
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            dead.append(f"{link}#{anchor}" if anchor else link)
    return dead


def anchors(path):
    """The headings of a document, as GitHub and the site name them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


if __name__ == "__main__":
    gc.set_threshold(20_000, 10, 10)  # as tests/conftest.py has it, and why
    print("\n" + json.dumps(run_here(sys.argv[1])))
