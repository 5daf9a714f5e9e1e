"""The array benchmarks: every way to a gradient agrees with the one by hand, and every figure is reported.

No time is tested.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import contad
from benchmarks.array_workloads import (
    ArrayWorkload,
    chains,
    element_writes,
    log_sum_exp,
    matrix_products,
    models,
    normal_density,
)
from benchmarks.arrays import CONTROL, READS, check, element_reads, measure, report
from benchmarks.comparison import tools
from benchmarks.peers import LIBRARIES, Way, by_hand, peers, with_contad
from benchmarks.scalars import Disagreement
from contad.engines import engine_names

ROOT = Path(__file__).parents[1]
WORKS = [
    *(chain.work(steps) for chain in (*chains(), element_writes(10)) for steps in (1, 7)),
    *models(quick=True),
    matrix_products(5, 3),
]


def work_name(work):
    return work.name


# ---- gradients -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("work", WORKS, ids=work_name)
def test_contad_agrees_with_the_gradient_by_hand(work, engine):
    check(work, engine, with_contad(engine).prepare(work)())


@pytest.mark.parametrize("work", [w for w in WORKS if w.data], ids=work_name)
def test_wrapped_data_give_the_same_gradient(work):
    check(work, "wrapped", with_contad("matrix", wrapped=True).prepare(work)())


@pytest.mark.parametrize("work", WORKS, ids=work_name)
def test_gradients_by_hand_agree_with_differences(work):
    """An independent reference: central differences along a random direction, which all parts of the point share."""
    draw = np.random.default_rng(19)
    directions = [draw.normal(size=np.shape(x)) for x in work.point]
    f = work.program(np)
    h = 1e-5
    ahead, behind = (
        f(*(x + s * h * d for x, d in zip(work.point, directions, strict=True)), *work.data) for s in (1.0, -1.0)
    )
    value, gradient = work.by_hand(*work.point, *work.data)
    along = sum(np.sum(g * d) for g, d in zip(gradient, directions, strict=True))
    assert value == pytest.approx(f(*work.point, *work.data), rel=1e-13)
    assert (ahead - behind) / (2.0 * h) == pytest.approx(along, rel=1e-6)


@pytest.mark.parametrize("way", peers(("autograd", "torch", "jax")), ids=lambda way: way.name)
@pytest.mark.parametrize("work", models(quick=True), ids=work_name)
def test_installed_peers_agree_with_the_gradient_by_hand(work, way):
    check(work, way.name, way.prepare(work)())


@pytest.mark.parametrize("work", WORKS, ids=work_name)
def test_arguments_are_not_written(work):
    point = [(0.9 - 0.05 * k) * np.asarray(x) for k, x in enumerate(work.point)]  # no earlier write left these
    before = [np.array(x) for x in point]
    work.by_hand(*point, *work.data)
    work.program(np)(*point, *work.data)
    assert all(np.array_equal(a, b) for a, b in zip(before, point, strict=True))


# ---- checks ----------------------------------------------------------------------------------------------------------
def shifted(part):
    """The gradient of a normal density with one part off by 1e-9 of its size."""
    work = normal_density(20)
    value, gradient = work.by_hand(*work.point, *work.data)
    return work, (value, tuple(g * (1.0 + 1e-9 * (k == part)) for k, g in enumerate(gradient)))


@pytest.mark.parametrize("part", [0, 1])
def test_a_wrong_derivative_is_refused(part):
    work, result = shifted(part)
    with pytest.raises(Disagreement, match=f"derivative {part} by planted"):
        check(work, "planted", result)
    check(work, "right", shifted(None)[1])


def test_a_wrong_value_is_refused():
    work, (value, gradient) = shifted(None)
    with pytest.raises(Disagreement, match="value by planted"):
        check(work, "planted", (value + 1e-6, gradient))


def test_a_wrong_shape_is_refused():
    work, (value, gradient) = shifted(None)
    with pytest.raises(Disagreement, match="expected shape"):
        check(work, "planted", (value, (gradient[0] * np.ones(1), gradient[1])))


def test_a_missing_part_is_refused():
    work, (value, gradient) = shifted(None)
    with pytest.raises(Disagreement, match="expected 2 parts, got 1"):
        check(work, "planted", (value, gradient[:1]))


def test_nan_and_a_vanishing_derivative_are_refused():
    work, (value, gradient) = shifted(None)
    with pytest.raises(Disagreement, match="derivative 0"):
        check(work, "planted", (value, (np.nan, gradient[1])))
    flat = ArrayWorkload("flat", lambda np: lambda x: x * 0.0 + 1.0, lambda x: (1.0, (0.0,)), (0.3,))
    with pytest.raises(Disagreement, match="derivative 0"):
        check(flat, "planted", (1.0, (0.0,)))


# ---- measuring -------------------------------------------------------------------------------------------------------
def refusing(work):
    raise contad.UnsupportedError("planted: a | b\nmore")


def test_a_way_that_refuses_is_listed_with_its_reason():
    figures = measure(log_sum_exp(5), [by_hand(), Way("refusing", refusing)], repeats=1, least=0.0)
    assert set(figures["seconds"]) == {CONTROL, "by hand"}
    assert figures["refused"] == {"refusing": "UnsupportedError: planted: a / b"}


def test_a_way_that_is_wrong_is_not_timed():
    wrong = Way("wrong", lambda work: lambda: (0.0, (np.zeros(5),)))
    with pytest.raises(Disagreement, match="value by wrong"):
        measure(log_sum_exp(5), [wrong], repeats=1, least=0.0)


def test_an_exception_without_text_has_a_reason():
    assert tools.reason(KeyError()) == "KeyError"


def test_libraries_that_are_not_installed_are_skipped_and_named(monkeypatch):
    monkeypatch.setattr(tools, "find_spec", lambda name: None)
    assert peers() == []
    assert tools.releases(LIBRARIES) == dict.fromkeys(("autograd", "torch", "jax"), "not installed, skipped")


def test_reading_elements_is_refused_by_an_unknown_engine():
    figures = element_reads(3, "unknown", repeats=1)
    assert set(figures["refused"]) == set(READS)
    assert figures["seconds"] == {}


# ---- the command -----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def figures():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.arrays", "--quick", "--json"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_every_program_is_timed_on_the_matrix_engine(figures):
    works = [*figures["calls"], *figures["writes"], *figures["models"]]
    assert len(works) == len(chains()) + 2 + len(models(quick=True))
    for w in works:
        assert {CONTROL, "by hand", "contad matrix"} <= set(w["seconds"])
        assert not {"by hand", "contad matrix", "contad matrix, data wrapped", "contad.record"} & set(w["refused"])
    assert all(set(w["seconds"]) <= set(w["ways"]) for w in works)


def test_reads_and_memory_are_measured(figures):
    assert set(figures["reads"]["matrix"]["seconds"]) == set(READS)
    memory = figures["memory"]
    assert memory["ideal"] == 24 * 8 * memory["size"] ** 2
    assert {"by hand", "contad matrix"} <= set(memory["ways"])
    assert all(set(m) == {"peak", "traced", "growth"} for m in memory["ways"].values())


def test_the_report_shows_every_figure(figures):
    text = report(figures)
    assert "Quick run" in text
    for w in (*figures["calls"], *figures["writes"]):
        assert f"| `{w['name']}`" in text
        assert f"{w['seconds']['by hand'] * 1e6:.2f} |" in text
    for w in figures["models"]:
        assert text.count(f"| {w['name']} ") == 2
        assert f"{w['first']['by hand'] * 1e3:.1f} |" in text


def test_the_report_lists_refusals_once_for_each_reason(figures):
    works = [w | {"refused": {"planted": "Error: why"}} for w in figures["models"]]
    lines = [line for line in report(figures | {"models": works}).splitlines() if line.startswith("- planted")]
    assert lines == [f"- planted: Error: why ({', '.join('`' + w['name'] + '`' for w in works)})"]
