"""Copies with watched blocks compute what the functions compute."""

import contextlib
import linecache

import pytest

from contad.functions.watched_blocks import watch


def keeping(items):
    """try, with, finally, loops and functions inside; results of each way out."""
    found = []
    for k in items:
        try:
            with contextlib.suppress(KeyError), contextlib.nullcontext(k) as n:
                if n == 2:
                    continue
                if n == 3:
                    raise KeyError(n)
                if n == 4:
                    break
                found += map(lambda j, n=n: (j, n, k), [k])
        finally:
            found.append(-k)
    else:
        found.append("all")
    return found


def producing(items):
    try:
        for k in items:
            yield 1.0 / k
    except ZeroDivisionError:
        yield "zero"


def run(f, code, *args):
    copy = type(f)(code, f.__globals__, f.__name__, None, f.__closure__)
    return copy(*args)


@pytest.mark.parametrize("items", [[1], [1, 2, 3], [5, 4, 1], []])
def test_a_copy_computes_the_same(items):
    assert run(keeping, watch(keeping.__code__), items) == keeping(items)
    assert list(run(producing, watch(producing.__code__), [2, 0, 1])) == [0.5, "zero"]


def test_lines_stay_where_they_are():
    def fails(x):
        with contextlib.nullcontext():
            return 1 / x

    with pytest.raises(ZeroDivisionError) as error:
        run(fails, watch(fails.__code__), 0)
    assert error.traceback[-1].lineno + 1 == fails.__code__.co_firstlineno + 2


@pytest.mark.parametrize(("source", "is_copied"), [("same", True), ("edited", False), ("broken", False), ("", False)])
def test_functions_without_handlers_or_without_their_source_have_no_copy(source, is_copied):
    assert watch(run.__code__) is None
    file, names = f"{source}.py", {}
    text = f"def f():\n    try:\n        return '{source}'\n    except:\n        return 2\n"
    exec(compile(text, file, "exec"), names)
    told = {"same": text, "edited": text.replace("2", "3"), "broken": "def f(:\n", "": ""}[source]
    linecache.cache[file] = (len(told), None, told.splitlines(True), file)
    try:
        assert (watch(names["f"].__code__) is not None) == is_copied
    finally:
        del linecache.cache[file]
