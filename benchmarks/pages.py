"""Tables of figures in README and in the guide, between comments with the titles of their parts."""

from pathlib import Path
from typing import Any

from benchmarks.comparison.topic import count_table
from benchmarks.topics.first_second import GRADIENTS

ROOT = Path(__file__).parents[1]
TABLES = {GRADIENTS: (ROOT / "README.md", ROOT / "notes" / "guide" / "engines.md")}  # parts of topics, and their pages


def find_block(text: str, title: str) -> tuple[int, int]:
    """Where the table of a part begins and ends in the text of a page."""
    start, end = (f"<!-- {word}: {title} -->\n" for word in ("table", "end of"))
    return text.index(start) + len(start), text.index(end)


def write_tables(figures: dict[str, Any]) -> None:
    """Put the tables of these figures into their pages."""
    for topic in figures.get("topics", []):
        for title, pages in TABLES.items():
            if title in topic["parts"]:
                for page in pages:
                    text = page.read_text(encoding="utf-8")
                    start, end = find_block(text, title)
                    table = count_table(topic["parts"][title])
                    page.write_text(f"{text[:start]}\n{table}\n\n{text[end:]}", encoding="utf-8")
