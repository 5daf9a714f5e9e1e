"""Execute the notebooks: `python -m notes` runs all and writes each beside its source, with its outputs.

    python -m notes 03 07       some of them
    python -m notes guide       the pictures of the guide's pages
    python -m notes --check     runs them, and writes nothing

Each is run in a fresh kernel, with warnings as errors. It needs the extra `notes`.
"""

import argparse
import base64
import re
import sys
import time
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from notes.drawn_pages import draw_page, pages_with_pictures

FOLDER = Path(__file__).parent
SHOWN = "01_continuations"  # its last picture stands in README, as sweep.png
STRICT = "import warnings\nwarnings.simplefilter('error')\nwarnings.filterwarnings('default', module='ipykernel')"


def sources(names: list[str]) -> list[Path]:
    """The sources of the notebooks whose names begin with one of these; of all without any."""
    found = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
    return [path for path in found if not names or path.name.startswith(tuple(names))]


def execute(path: Path) -> Any:
    """The notebook of a source, with its outputs; CellExecutionError where a cell raises."""
    notebook = jupytext.read(path)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook.cells.insert(0, nbformat.v4.new_code_cell(STRICT))
    for k, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{k}"
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=600,
        record_timing=False,
        resources={"metadata": {"path": str(FOLDER)}},
        extra_arguments=["--IPKernelApp.log_level=CRITICAL"],
    )
    client.execute()
    del notebook.cells[0]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count -= 1
            for output in cell.outputs:
                if "text" in output:  # errors begin with the temporary file of a cell
                    output["text"] = re.sub(r"\S*ipykernel_\d+\S*?\.py:", "line ", output["text"])
    return notebook


def pictures_of(notebook: Any) -> list[bytes]:
    """The pictures among the outputs, as PNG."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    found = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    return [base64.b64decode(picture) for picture in found]


def main(arguments: list[str]) -> int:
    """Run notebooks; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m notes", description="Execute the notebooks.")
    parser.add_argument("names", nargs="*", help="the beginnings of their names; all without any")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    failed = 0
    if "guide" in options.names:
        for page in pages_with_pictures():
            draw_page(page, page.parent)
        options.names.remove("guide")
        if not options.names:
            return 0
    for path in sources(options.names):
        start = time.perf_counter()
        try:
            notebook = execute(path)
        except CellExecutionError as error:
            failed += 1
            print(f"{path.name}: FAILED\n{error}", file=sys.stderr)
            continue
        if not options.check:
            nbformat.write(notebook, path.with_suffix(".ipynb"))
            if path.stem == SHOWN:
                FOLDER.joinpath("sweep.png").write_bytes(pictures_of(notebook)[-1])
        print(f"{path.name}: {time.perf_counter() - start:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
