"""The files of images: a digest, the name of a function, the symbols that it calls, and its object code."""

import hashlib
import json
from typing import NamedTuple

_DIGEST = 32  # bytes of SHA-256


class Image(NamedTuple):
    """The object code of one function that C can call."""

    function: str  # its name there
    calls: tuple[str, ...]  # names that it does not define
    code: bytes

    def pack(self) -> bytes:
        """The contents of the file of the image."""
        head = json.dumps([self.function, self.calls]).encode()
        body = b"%d\n%b%b" % (len(head), head, self.code)
        return hashlib.sha256(body).digest() + body


def unpack(contents: bytes) -> Image | None:
    """The image in a file; None if the file is damaged."""
    body = contents[_DIGEST:]
    if hashlib.sha256(body).digest() != contents[:_DIGEST]:
        return None
    length, _, rest = body.partition(b"\n")
    function, calls = json.loads(rest[: int(length)])
    return Image(function, tuple(calls), rest[int(length) :])
