"""Progress bars on the terminal for work of more than a second, by tqdm if it is installed.

A bar costs nothing if nobody sees it: if stderr is not a terminal, in CI, and without tqdm, no bar appears.
"""

import os
import sys
import threading
import time
from typing import Any

from contad.forks import renew_in_children

DELAY = 1.0  # seconds before a bar appears
INTERVAL = 0.2  # seconds between two updates


def has_watcher() -> bool:
    """Whether stderr is a terminal that somebody watches."""
    stream = sys.stderr
    return (
        stream is not None
        and stream.isatty()
        and os.environ.get("TERM") != "dumb"
        and os.environ.get("CI", "").lower() in ("", "0", "false")
    )


class ProgressBar:
    """The progress of some work, on stderr; `total` is the number of its steps, None if only the time is known.

    The work itself counts steps and does nothing else; a thread draws.

    >>> with ProgressBar("adding", total=3) as bar:
    ...     for _ in range(3):
    ...         bar.advance()
    >>> bar.done
    3
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self._ended = renew_in_children(threading.Event())
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "ProgressBar":
        if has_watcher():
            self._start = time.time()
            self._thread = threading.Thread(target=self._show, name="contad progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def advance(self, what: str | None = None) -> None:
        """One step is done; the next is `what`."""
        self.done += 1
        self.what = what or self.what

    def _show(self) -> None:
        if self._ended.wait(DELAY):
            return
        try:
            from tqdm import tqdm
        except ImportError:
            return

        class Bar(tqdm):
            """A bar that no other thread updates."""

            monitor_interval = 0

        layout: dict[str, Any] = {} if self.total else {"bar_format": "{desc}: {elapsed}"}
        with Bar(desc=self.what, total=self.total, file=sys.stderr, leave=False, dynamic_ncols=True, **layout) as bar:
            bar.start_t = self._start
            while True:
                bar.n = self.done
                bar.set_description_str(self.what)
                if self._ended.wait(INTERVAL):
                    return
