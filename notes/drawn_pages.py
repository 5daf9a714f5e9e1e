"""The pictures of pages of the guide: blocks `py` continue the program of a page and draw the picture that follows.

`python -m notes guide` draws them anew; they need Matplotlib, which the other blocks of a page do not.
"""

import contextlib
import io
import re
import runpy
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent / "guide"
BLOCK = re.compile(r"^```(python|py)\n(.*?)^```\n(?:\n!\[[^\]]*\]\(([^)]*)\))?", re.MULTILINE | re.DOTALL)
SAVE = """plt.tight_layout()
plt.savefig(FOLDER + {!r}, dpi=100, metadata={{"Software": None}})
plt.close("all")
"""


def draw_page(page: Path, folder: Path) -> list[Path]:
    """Run the blocks of a page, as a file, and write its pictures into a folder."""
    parts, drawn = ["import matplotlib", "matplotlib.use('agg')", "import matplotlib.pyplot as plt, notes.pictures"], []
    for kind, source, picture in BLOCK.findall(page.read_text()):
        parts.append(source)
        if kind == "py":
            drawn.append(folder / picture)
            parts.append(SAVE.format(f"/{picture}"))
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(io.StringIO()):
        program = Path(place) / "drawn_page.py"
        program.write_text("\n".join(parts))
        runpy.run_path(str(program), {"FOLDER": str(folder)})
    return drawn


def pages_with_pictures() -> list[Path]:
    """The pages that have such blocks."""
    return [page for page in sorted(FOLDER.glob("*.md")) if any(found[2] for found in BLOCK.findall(page.read_text()))]
