"""What users install: the sdist and the wheel, their metadata, and what runs from them."""

import email
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
WORKFLOW = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("notes/**/*.md")]


def python_versions():
    """The versions of Python that the classifiers name."""
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in PROJECT["classifiers"]]
    return [m[1] for m in found if m]


# ---- what is said of the packages ------------------------------------------------------------------------------------
def test_versions_of_python_agree():
    versions = python_versions()
    assert versions == [f"3.{n}" for n in range(11, 11 + len(versions))]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    matrix = re.search(r"python: \[(.*)\]", WORKFLOW)[1]
    assert re.findall(r'"([\d.]+)"', matrix) == versions


def test_the_workflow_runs_on_each_system():
    assert re.search(r"system: \[(.*)\]", WORKFLOW)[1] == "ubuntu-latest, macos-latest, windows-latest"


def commands_of_tests(readme):
    """What README's command for the tests installs, and what it runs."""
    return re.search(r"pip install -q -e '(\S+)' && \S+python (-m pytest .*)$", readme, re.MULTILINE).groups()


def test_the_workflow_runs_readmes_command():
    """In a form without quotation marks and paths of one system."""
    installed, tests = commands_of_tests((ROOT / "README.md").read_text(encoding="utf-8"))
    runs = re.findall(r"^      - run: (.*)$", WORKFLOW, re.MULTILINE)
    assert f'python -m pip install -q -e "{installed}"' in runs
    assert f"python {tests}" in runs


def test_the_citation_is_of_this_version():
    assert re.search(r"^version: (.*)$", CITATION, re.MULTILINE)[1] == PROJECT["version"]
    assert re.search(r"^license: (.*)$", CITATION, re.MULTILINE)[1] == PROJECT["license"]
    assert f"name: {PROJECT['authors'][0]['name']}\n" in CITATION


def wrong_extras(text, extras):
    """The `contad[...]` that a text names and that do not exist."""
    named = [name.strip() for names in re.findall(r"\bcontad\[([a-z, ]+)\]", text) for name in names.split(",")]
    return sorted(set(named) - set(extras))


def test_texts_name_extras_that_exist():
    found = {str(p): wrong for p in PAGES if (wrong := wrong_extras(p.read_text(encoding="utf-8"), EXTRAS))}
    sources = [*ROOT.glob("contad/**/*.py"), *ROOT.glob("examples/*.py")]
    found |= {str(p): wrong for p in sources if (wrong := wrong_extras(p.read_text(encoding="utf-8"), EXTRAS))}
    assert found == {}


def test_a_wrong_extra_is_found():
    assert wrong_extras("pip install 'contad[test]', contad[plot,notes], x[0]", EXTRAS) == ["plot"]


def table_of_extras(page):
    """{extra: [packages]} of the table in a page."""
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (.*) \|$", page, re.MULTILINE)
    return {name: re.findall(r"`([\w-]+)`", packages) for name, packages in rows}


def test_the_table_of_extras_is_that_of_the_project():
    page = (ROOT / "notes" / "guide" / "installation.md").read_text(encoding="utf-8")
    declared = {
        name: [re.match(r"[\w-]+", x)[0] for x in packages if not x.startswith("contad")]
        for name, packages in EXTRAS.items()
    }
    assert table_of_extras(page) == declared


# ---- what is built ---------------------------------------------------------------------------------------------------
def modules(root):
    """The files of the package in a checkout, as a wheel has them."""
    files = [path for path in (root / "contad").rglob("*") if path.is_file()]
    return {
        path.relative_to(root).as_posix()
        for path in files
        if "__pycache__" not in path.parts and path.suffix not in (".pyc", ".nbi", ".nbc")
    }


def faults_of_contents(names, expected):
    """What a wheel lacks, and what it has besides modules and metadata."""
    of_package = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    lacks, besides = sorted(expected - of_package), sorted(of_package - expected)
    return [f"lacks {name}" for name in lacks] + [f"has {name}" for name in besides]


def faults_of_metadata(text, project=PROJECT):
    """Where metadata differ from the project's."""
    metadata = email.message_from_string(text)
    expected = {
        "Name": [project["name"]],
        "Version": [project["version"]],
        "Summary": [project["description"]],
        "License-Expression": [project["license"]],
        "License-File": project["license-files"],
        "Requires-Python": [project["requires-python"]],
        "Classifier": project["classifiers"],
        "Provides-Extra": sorted(project["optional-dependencies"]),
        "Description-Content-Type": ["text/markdown"],
        "Project-URL": [f"{name}, {url}" for name, url in project.get("urls", {}).items()],
    }
    faults = [name for name, values in expected.items() if sorted(metadata.get_all(name, [])) != sorted(values)]
    required = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    if sorted(required) != sorted(project["dependencies"]):
        faults.append("Requires-Dist")
    if not metadata.get_payload().startswith("# contad\n"):
        faults.append("Description")
    if any(line.startswith("License ::") for line in metadata.get_all("Classifier", [])):
        faults.append("License :: beside the expression")
    return faults


def test_a_fault_of_a_wheel_is_found():
    files = {"contad/__init__.py", "contad/ops/x.py", "contad/py.typed"}
    assert faults_of_contents(files | {"contad-0.1.0.dist-info/METADATA"}, files) == []
    assert faults_of_contents({"contad/__init__.py", "contad/py.typed", "tests/test_x.py"}, files) == [
        "lacks contad/ops/x.py",
        "has tests/test_x.py",
    ]


def test_a_fault_of_metadata_is_found():
    faults = faults_of_metadata("Name: contad\nProject-URL: Home, https://example.org\n\ntext")
    assert {"Version", "License-Expression", "Requires-Dist", "Project-URL", "Description"} <= set(faults)
    assert "Name" not in faults


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the sdist, the wheel that is built from it, and the one from the checkout in `direct`."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder / "direct", ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    (path,) = built.glob("*.whl")
    return path


@pytest.mark.packages
def test_the_wheel_is_pure_and_whole(wheel):
    assert wheel.name == f"contad-{PROJECT['version']}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert faults_of_contents(archive.namelist(), modules(ROOT)) == []
        folder = f"contad-{PROJECT['version']}.dist-info"
        assert faults_of_metadata(archive.read(f"{folder}/METADATA").decode()) == []
        assert "Root-Is-Purelib: true" in archive.read(f"{folder}/WHEEL").decode()


@pytest.mark.packages
def test_the_sdist_builds_the_same_wheel(built, wheel):
    assert (built / "direct" / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.packages
def test_the_sdist_has_what_tests_need(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        text = archive.extractfile(f"contad-{PROJECT['version']}/PKG-INFO").read().decode()
    assert faults_of_metadata(text) == []
    assert modules(ROOT) <= names
    for folder in ("tests", "notes", "examples", "benchmarks", ".github"):
        files = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".yml")]
        assert {path.relative_to(ROOT).as_posix() for path in files} <= names, folder
    assert {"README.md", "CITATION.cff", "SECURITY.md", ".ci/run", ".ci/oldest.txt", "pyproject.toml"} <= names
    assert not [name for name in names if "__pycache__" in name or name.endswith((".nbi", ".nbc", ".whl"))]


@pytest.mark.packages
def test_the_index_takes_them(built, wheel):
    """The long description renders, and the metadata are what the index asks for."""
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, *built.glob("*.tar.gz"))


@pytest.mark.packages
def test_the_wheel_runs_away_from_the_sources(wheel, tmp_path):
    """In a new environment, which has the dependencies of this one."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "new")
    scripts = Path(sysconfig.get_path("scripts", "venv", {"base": str(tmp_path / "new")}))
    python = scripts / Path(sys.executable).name
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel)
    places = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    (here,) = (tmp_path / "new").rglob("site-packages")
    (here / "dependencies.pth").write_text("\n".join(places), encoding="utf-8")
    environment = {name: x for name, x in os.environ.items() if name not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}
    options = {"cwd": tmp_path, "env": environment}
    assert Path(run(python, "-I", "-c", "import contad; print(contad.__file__)", **options).strip()).parents[1] == here
    assert "569 patients, 212 malignant" in run(python, "-I", "-m", "contad", **options)
