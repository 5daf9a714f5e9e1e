"""What other libraries differentiate, contad differentiates: counted over all functions of the installed library."""

from collections import Counter

import pytest

from contad.counts.judgement import judge
from contad.counts.library_names import COUNTED, judge_names

LEAST = {"jax": 0.965, "autograd": 0.99, "torch": 0.95}


@pytest.mark.adapters
@pytest.mark.filterwarnings("ignore")  # of what the libraries import
@pytest.mark.parametrize("library", LEAST)
def test_most_of_what_has_a_derivative_is_right(library):
    pytest.importorskip(library)
    found = list(COUNTED[library]())
    counts = Counter(each.status for each in found)
    assert [each for each in found if each.status == "wrong"] == []
    assert counts["right"] >= LEAST[library] * (counts["right"] + counts["refused"]) > 100


@pytest.mark.parametrize(
    ("expression", "status"),
    [
        ("np.sin(x)", "right"), ("np.linalg.eigh(s)", "right"), ("o = v.copy(); o[i[:2]] = w[:2]; o", "right"),
        ("np.floor(v)", "no derivative"), ("np.arange(x, x + 2.5, 0.5)", "refused"),
        ("contad.value_of(x) * x", "wrong"),  # its slope
        ("x if isinstance(x, float) and type(x) is float else x + 1.0", "right"), ("np.sin(None)", "wrong"),
    ],
)  # fmt: skip
def test_a_judgement(expression, status):
    assert judge("", expression).status == status


def test_a_name_is_called_by_its_expression_or_by_a_form():
    found = list(judge_names(["np.take", "np.hypot", "np.vmap", "np.save", "scipy.stats.norm.logpdf"]))
    assert [each.status for each in found] == ["right", "right", "not NumPy", "no derivative", "right"]
    assert [each.expression for each in found] == [
        "np.take(v, i)", "np.hypot(v, w)", "", "", "scipy.stats.norm.logpdf(x, a, b)",
    ]  # fmt: skip
