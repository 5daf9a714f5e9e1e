"""The page that explains generated derivatives shows what is generated."""

import re
from pathlib import Path

import numba
import numpy as np
import pytest

from contad.engines.generated import source
from contad.native.request import Request
from tests.generated_programs import namespace

BLOCKS = re.findall(r"```python\n(.*?)```", Path(__file__).parents[1].joinpath("notes/generated.md").read_text(), re.S)
X = np.arange(5.0)
ARGUMENTS = {"misfit": ((X, X, 1.0, 2.0), (2, 3)), "walk": ((0.5, 2.0, 10), (0, 1)), "smooth": ((X, 0.3, 4), (0, 1))}


def test_the_page_has_three_programs():
    assert [re.search(r"def (\w+)", block)[1] for block in BLOCKS[::2]] == list(ARGUMENTS)


@pytest.mark.parametrize(("name", "place"), [(name, 2 * k) for k, name in enumerate(ARGUMENTS)])
def test_the_page_shows_what_is_generated(name, place):
    function = namespace(BLOCKS[place], f"page {name}")[name]
    args, argnums = ARGUMENTS[name]
    asked = Request(function.py_func, function, tuple(map(numba.typeof, args)), argnums, False, "value_and_grad")
    text = source(asked)
    assert text[text.index("def run(") :] == BLOCKS[place + 1]
