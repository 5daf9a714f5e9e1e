"""The table of functions says what the registry says."""

import subprocess
import sys

import pytest

import contad.ops  # noqa: F401
from contad import table
from contad.rule import ScalarRule, rules


def names(text):
    """The rule names of a table, in order."""
    return [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]


def test_every_rule_has_a_row():
    text = table.function_table()
    assert names(text) == sorted(rule.name for rule in rules())
    assert f"\n{len(names(text))} rules." in text


def test_every_row_has_every_column():
    lines = [line for line in table.function_table().splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {len(table.HEADER) + 1}


def test_row_of_a_rule_that_misses_the_bound():
    def ratio(x, y):
        """The ratio |x| / |y|.

            z = |x| / |y|,     dz/dx = sign(x) / |y|

        Accuracy: 40 ulp near y = 0.
        """
        return abs(x) / abs(y)

    assert table._row(ScalarRule(ratio, "scipy.special.ratio", "truediv", True, ())) == [
        "`ratio`",
        "x, y",
        "The ratio \\|x\\| / \\|y\\|.",
        "`z = \\|x\\| / \\|y\\|, dz/dx = sign(x) / \\|y\\|`",
        "`scipy.special.ratio`",
        "`truediv`",
        "compiled",
        "40 ulp near y = 0.",
    ]


def test_row_of_a_rule_without_docstring():
    row = table._row(ScalarRule(lambda x: x, None, None, False, ()))
    assert row == ["`<lambda>`", "x", "", "", "", "", "stored partials", table._BOUND]


def test_command_prints_the_table_of_the_bundled_rules():
    done = subprocess.run([sys.executable, "-m", "contad.table"], capture_output=True, text=True, check=True)
    assert names(done.stdout) == sorted(rule.name for rule in rules() if rule.__module__.startswith("contad.ops."))


@pytest.mark.parametrize("arguments", [["--help"], ["sin"], ["a", "b"]])
def test_an_argument_is_answered_with_the_usage(arguments):
    command = [sys.executable, "-m", "contad.table", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "usage: python -m contad.table    (it takes no arguments)\n"
