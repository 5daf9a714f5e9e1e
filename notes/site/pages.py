"""The pages of the site that are made when it is built: the front page, the reference, and files from outside `notes/`.

MkDocs calls `on_files` and its like (a hook). Links are written as GitHub resolves them, from file to file of the
repository; here they are turned to the pages that these files become.
"""

import importlib
import inspect
import os
import re
from collections.abc import Iterable, Sequence
from html import escape, unescape
from pathlib import Path
from typing import Any

import latex2mathml.converter
from docstrings import markdown as formatted  # beside this file, whose folder MkDocs searches
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import contad
import contad.stan
from contad import table
from contad.distributions.faces import Face
from contad.rules.array_rule import array_rules
from contad.rules.compilable import Compilable
from contad.scipy.multivariate_densities import MultivariateDistribution
from contad.scipy.special import SpecialFunction
from contad.scipy.stats import Distribution

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(\]\(|<img src=\")([^)\"\s#]+)(#[^)\"\s]*)?(?=[)\"])")
CODE = re.compile(r"(<pre\b.*?</pre>|<code\b.*?</code>|<script\b.*?</script>)", re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n][^$]*?)\$", re.DOTALL)
BAR = "\\|"
CODE_SPAN = re.compile(r"`([^`]*\\\|[^`]*)`")
SCHEME = re.compile(r"[a-z]+:")

# files of the repository that are pages, with the page of each
OUTSIDE = {
    "README.md": "index.md",
    "notes/README.md": "notebooks.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "benchmarks/results/comparison.md": "project/comparison.md",
    "benchmarks/results/ratio.png": "project/ratio.png",
    "benchmarks/results/cost.png": "project/cost.png",
    **{
        str(path.relative_to(ROOT)): str(path.relative_to(ROOT).with_suffix(".md"))
        for path in sorted((ROOT / "examples").rglob("*.py"))
    },
}

# what is public, by the module that defines it: (page, title, beginnings of modules); the first that fits
PLACES = (
    ("errors", "Errors", ("contad.errors",)),
    ("rules", "Rules of your own", ("contad.rules", "contad.transforms.custom", "contad.transforms.checkpoints")),
    ("compiled", "Compiled code", ("contad.transforms.compiled_code", "contad.front", "contad.numba_functions")),
    ("programs", "Recorded programs", ("contad.programs",)),
    ("transforms", "Transforms", ("contad.transforms", "contad.profiling")),
    ("variables", "Variables, arrays and the stack", ("contad.variables",)),
    ("settings", "Settings and the rest", ("contad",)),
)
ORDER = ("transforms", "variables", "compiled", "programs", "rules", "errors", "settings")  # in the navigation
NUMBER_COLUMNS = ("name", "description", "formula", "NumPy, SciPy")
ARRAY_COLUMNS = ("NumPy", "kind", "description", "engines")
MODULES = {  # modules with names of their own
    "testing": ("contad.testing", "Testing derivatives"),
    "optimize": ("contad.scipy.optimize", "contad.scipy.optimize"),
    "integrate": ("contad.scipy.integrate", "contad.scipy.integrate"),
    "linalg": ("contad.scipy.linalg", "contad.scipy.linalg"),
    "sparse": ("contad.scipy.sparse", "contad.scipy.sparse"),
    "sparse-linalg": ("contad.scipy.sparse.linalg", "contad.scipy.sparse.linalg"),
    "special": ("contad.scipy.special", "contad.scipy.special"),
    "stats": ("contad.scipy.stats", "contad.scipy.stats"),
    "transforms-of-parameters": ("contad.stan.transforms", "contad.stan.transforms"),
}


# ---- what MkDocs calls -----------------------------------------------------------------------------------------------
def on_config(config: MkDocsConfig) -> None:
    """Adds to the navigation the pages of the reference, and those of the guide that no entry names."""
    named = set(_named(config.nav))
    loose = [f"guide/{path.name}" for path in sorted((ROOT / "notes" / "guide").glob("*.md"))]
    _section(config.nav, "How to").extend(uri for uri in loose if uri not in named)
    _section(config.nav, "Reference").extend(_reference())
    _section(config.nav, "Examples").extend(uri for source, uri in OUTSIDE.items() if source.startswith("examples/"))


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Adds the pages that are made."""
    for source, uri in OUTSIDE.items():
        path = ROOT / source
        if path.suffix == ".png":
            files.append(File.generated(config, uri, abs_src_path=str(path)))
        else:
            text = path.read_text()
            files.append(File.generated(config, uri, content=_listing(path, text) if path.suffix == ".py" else text))
    for uri, content in _contents().items():
        files.append(File.generated(config, uri, content=content))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links between files to links between pages."""
    uri = page.file.src_uri
    if uri == "index.md":
        page.meta["hide"] = ["navigation"]
    source = next((source for source, target in OUTSIDE.items() if target == uri), f"notes/{uri}")
    markdown = re.sub(r"^\|.*$", _cells, markdown, flags=re.MULTILINE)
    return LINK.sub(lambda found: found[1] + _link(found[2], source, uri) + (found[3] or ""), markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas of notebooks as MathML, which browsers show without a library."""
    if not page.file.src_uri.endswith(".ipynb"):
        return html
    parts = CODE.split(html)
    return "".join(part if k % 2 else FORMULA.sub(_mathml, part) for k, part in enumerate(parts))


def _mathml(found: re.Match[str]) -> str:
    return latex2mathml.converter.convert(unescape(found[1] or found[2]), "block" if found[1] else "inline")


def _cells(row: re.Match[str]) -> str:
    """A row of a table; bars in code are written as Python-Markdown reads them."""
    return CODE_SPAN.sub(lambda code: f"<code>{escape(code[1], quote=False).replace(BAR, '&#124;')}</code>", row[0])


def _link(link: str, source: str, uri: str) -> str:
    """A link of a file, as the page that it becomes has it."""
    if SCHEME.match(link):
        return link
    target = os.path.normpath(os.path.join(os.path.dirname(source), link))
    page = OUTSIDE.get(target, target.removeprefix("notes/"))
    return os.path.relpath(page, os.path.dirname(uri) or ".")


def _named(nav: Any) -> Iterable[str]:
    """The pages that a part of the navigation names."""
    if isinstance(nav, str):
        yield nav
    for part in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _named(part)


def _section(nav: Any, title: str) -> list[Any]:
    return next(part[title] for part in nav if isinstance(part, dict) and title in part)


def _listing(path: Path, text: str) -> str:
    """An example as a page: what its docstring says, and its source."""
    return f"# {path.name}\n\n```python\n{text}```\n"


# ---- the reference ---------------------------------------------------------------------------------------------------
def _reference() -> list[Any]:
    """The part of the navigation."""
    families = [f"reference/{name}.md" for name in _families()]
    numbers = [uri for uri in families if uri.startswith("reference/numbers-")]
    return [
        *(f"reference/{page}.md" for page in ORDER),
        {"Functions of numbers": ["reference/numbers.md", *numbers]},
        {"Functions of arrays": ["reference/arrays.md", *(uri for uri in families if uri not in numbers)]},
        *(f"reference/{page}.md" for page in MODULES),
        {"contad.stan": [f"reference/{page}.md" for page in _stan_pages()]},
        "reference/stan-names.md",
    ]


def _contents() -> dict[str, str]:
    """The pages of the reference: {page: Markdown}."""
    pages = {}
    for page, title, _ in PLACES:
        names = [name for name in _public() if _place(getattr(contad, name)) == page]
        pages[page] = f"# {title}\n\n" + _entries((f"contad.{name}", getattr(contad, name)) for name in names)
    for page, (module_name, title) in MODULES.items():
        module = importlib.import_module(module_name)
        names = sorted([*module.__all__, *getattr(module, "MULTIVARIATE", ())])
        found = ((f"{module_name}.{name}", getattr(module, name)) for name in names)
        pages[page] = f"# {title}\n\n{_introduction(module_name)}\n\n{_entries(found)}"
    pages.update(_families())
    pages.update(_stan_pages())
    _, numbers, arrays = re.split(r"^## .*\n", table.function_table(), flags=re.MULTILINE)
    pages["numbers"] = f"# All functions of numbers\n{_columns(numbers, table.HEADER, NUMBER_COLUMNS)}"
    pages["arrays"] = f"# All functions of arrays\n{_columns(arrays, table.ARRAY_HEADER, ARRAY_COLUMNS)}"
    pages["stan-names"] = re.sub(r"^# .*", "# Stan's names", table.stan_table())
    return {f"reference/{page}.md": text for page, text in pages.items()}


def _columns(text: str, header: Sequence[str], kept: Sequence[str]) -> str:
    """A table with some of its columns; `python -m contad.table` has all."""

    def keep(row: re.Match[str]) -> str:
        cells = re.split(r" \| ", row[0].strip("| "))
        cells += [""] * (len(header) - len(cells))
        return f"| {' | '.join(cells[header.index(name)] for name in kept)} |"

    return re.sub(r"^\|.*$", keep, text, flags=re.MULTILINE)


def _public() -> list[str]:
    """The public names of contad that are no functions of a family."""
    return sorted(set(contad.__all__) - set(contad.ops.__all__), key=str.lower)


def _place(value: object) -> str:
    module = _defining_module(value)
    return next(page for page, _, starts in PLACES if module.startswith(starts))


def _defining_module(value: object) -> str:
    return str(getattr(value, "__module__", "contad"))


def _families() -> dict[str, str]:
    """A page for each file of `contad/ops` that has functions of its own."""
    found: dict[str, set[str]] = {}
    for name in contad.ops.__all__:
        value = getattr(contad.ops, name)
        found.setdefault(_defining_module(value), set()).add(value.__name__)
    for rule in array_rules():
        if rule.__module__.startswith("contad.ops."):
            found.setdefault(rule.__module__, set()).add(rule.name)
    pages = {}
    for module_name, names in sorted(found.items()):
        module = importlib.import_module(module_name)
        kind = "arrays" if any(rule.__module__ == module_name for rule in array_rules()) else "numbers"
        title = module_name.rpartition(".")[2].replace("_", " ").capitalize()
        ordered = sorted(names, key=str.lower)
        entries = _entries((f"{module_name}.{name}", getattr(module, name, None)) for name in ordered)
        pages[f"{kind}-{module_name.rpartition('.')[2]}"] = f"# {title}\n\n{_introduction(module_name)}\n\n{entries}"
    return pages


def _stan_pages() -> dict[str, str]:
    """A page for each module of `contad/stan`, after one for what Stan's names are in general."""
    found: dict[str, list[str]] = {}
    for name in sorted(contad.stan.__all__, key=str.lower):
        module_name = _defining_module(getattr(contad.stan, name))
        inside = module_name.startswith("contad.stan.")
        found.setdefault(".".join(module_name.split(".")[:3]) if inside else "contad.ops", []).append(name)
    found.pop("contad.stan.transforms")  # which has a page of its own
    others = ", ".join(f"`{name}`" for name in found.pop("contad.ops"))
    first = f"{_introduction('contad.stan')}\n\nFunctions of contad that have Stan's names: {others}."
    pages = {"stan": f"# contad.stan\n\n{first}"}
    for module_name, names in sorted(found.items()):
        family = module_name.rpartition(".")[2]
        title = family.replace("_", " ").capitalize()
        entries = _entries((f"contad.stan.{name}", getattr(contad.stan, name)) for name in names)
        pages[f"stan-{family.replace('_', '-')}"] = f"# {title}\n\n{_introduction(module_name)}\n\n{entries}"
    return pages


def _introduction(module_name: str) -> str:
    return formatted(inspect.cleandoc(importlib.import_module(module_name).__doc__ or ""))


def _entries(values: Iterable[tuple[str, Any]]) -> str:
    """What mkdocstrings replaces by the documentation of each name, which it reads where the name is defined.

    What is made when contad is imported, by a table, no source shows: it is documented by itself.
    """
    found = []
    for name, value in values:
        if isinstance(value, Distribution):
            found.append(_made(name, value, ""))
            faces = {key: face for key, face in vars(value).items() if isinstance(face, Face)}
            found += [f"- `{key}{face.signature}`: {_first_line(face)}" for key, face in faces.items()]
        elif isinstance(value, MultivariateDistribution):
            found.append(_made(name, value, ""))
        elif isinstance(value, (Face, SpecialFunction)) or _is_described(value):
            found.append(_made(name, value, str(inspect.signature(value))))
        elif not inspect.ismodule(value):
            place = f"{_defining_module(value)}.{getattr(value, '__qualname__', name.rpartition('.')[2])}"
            label = name.removeprefix("contad.ops.").rpartition(".")[2]
            heading = _heading_of_rule(label) if name.startswith("contad.ops.") else name
            found.append(f"::: {place}\n    options:\n      heading: {heading}\n      toc_label: {label}")
    return "\n\n".join(found)


def _heading_of_rule(name: str) -> str:
    """The name by which users call a function of contad.ops; that of NumPy's functions is theirs."""
    return next((f"{m.__name__}.{name}" for m in (contad, contad.ops) if name in m.__all__), name)


def _is_described(value: Any) -> bool:
    """Whether a docstring is made, or completed, when contad is imported: so are many of Stan's names."""
    return isinstance(value, Compilable) and _defining_module(value).startswith("contad.stan.")


def _first_line(value: Any) -> str:
    return formatted(inspect.cleandoc(value.__doc__).partition("\n")[0])


def _made(name: str, value: Any, signature: str) -> str:
    return f"## `{name}{signature}` {{: #{name} }}\n\n{formatted(inspect.cleandoc(value.__doc__))}"
