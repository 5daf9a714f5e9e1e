"""The request of --plot, and the place of a picture: a file, a window, or the terminal if Matplotlib is missing."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from contad.command.user_file import CommandError

KINDS = ("profile", "sparsity")
SUFFIXES = (".png", ".svg", ".pdf")


class PictureRequest(NamedTuple):
    """A kind of picture, and where it goes: a file's name, "text", "window", or None for a file that contad names."""

    kind: str
    where: str | None

    @property
    def is_text(self) -> bool:
        """Whether the picture consists of characters: on request, or without Matplotlib if no file was named."""
        return self.where == "text" or (self.where is None and not has_matplotlib())


def picture_request(words: Sequence[str]) -> PictureRequest:
    """
    >>> picture_request([])
    PictureRequest(kind='profile', where=None)
    >>> picture_request(["sparsity", "pattern.svg"])
    PictureRequest(kind='sparsity', where='pattern.svg')
    """
    kinds = [word for word in words if word in KINDS]
    places = [word for word in words if word not in KINDS]
    for word in places:
        if word not in ("text", "window") and Path(word).suffix.lower() not in SUFFIXES:
            raise CommandError(
                f"--plot: expected profile or sparsity, then text, window or a file name that ends in "
                f"{', '.join(SUFFIXES)}, got {word!r}"
            )
    if len(kinds) > 1 or len(places) > 1:
        raise CommandError(f"--plot: expected one kind of picture and one place for it, got {' '.join(words)}")
    return PictureRequest(kinds[0] if kinds else KINDS[0], places[0] if places else None)


def has_matplotlib() -> bool:
    """Whether Matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def default_name(label: str, kind: str) -> str:
    """The file of a picture that nobody named, in the working directory.

    >>> default_name("models/growth.py:log_likelihood", "profile")
    'growth-log_likelihood-profile.png'
    """
    path, _, name = label.rpartition(":")
    return f"{Path(path).name.removesuffix('.py')}-{name}-{kind}.png"


class Picture(Protocol):
    """A picture that can be drawn, or written with characters."""

    def describe(self) -> str:
        """A description of the picture in one line."""

    def draw(self, figure: Any, title: str) -> None:
        """Fill a figure of Matplotlib."""

    def write(self) -> str:
        """The picture as lines of characters."""


def place_picture(request: PictureRequest, label: str, picture: Picture) -> tuple[str, str]:
    """Put a picture in the requested place; returns the place, and the report's remark on it."""
    path, _, function = label.rpartition(":")
    title = f"{Path(path).name}:{function}"
    if request.is_text:
        if request.where is None:
            print("contad: drawn as text, since Matplotlib is missing: pip install contad[screen]", file=sys.stderr)
        return "text", f"plot          {picture.describe()}\n\n{picture.write()}"
    if not has_matplotlib():
        raise CommandError(
            f"--plot {request.where}: needs Matplotlib, pip install contad[screen]; --plot text does not"
        )
    if request.where == "window":
        _show(picture, title)
        return "window", f"plot          {picture.describe()}"
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    picture.draw(figure, title)
    name = request.where or default_name(label, request.kind)
    try:
        figure.savefig(name, dpi=150)
    except OSError as error:
        raise CommandError(f"--plot: {name}: {error.strerror or error}") from error
    return name, f"plot          {name}: {picture.describe()}"


def _show(picture: Picture, title: str) -> None:
    from matplotlib import pyplot as plt

    if plt.get_backend().lower() in ("agg", "pdf", "svg", "ps", "cairo", "template"):
        raise CommandError("--plot window: there is no display to open a window on; --plot FILE.png writes a file")
    picture.draw(plt.figure(layout="constrained"), title)
    plt.show()
