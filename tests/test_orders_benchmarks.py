"""The benchmark of second derivatives: what it times is right, and every figure is reported. No time is tested."""

import json

import numpy as np
import pytest

import contad
from benchmarks import orders
from benchmarks.scalars import Disagreement
from contad.testing import expect_ad


def test_the_hessian_by_hand():
    rows, labels, w, _ = orders.data(30)
    loss = orders.loss_of(np, rows, labels)
    np.testing.assert_allclose(contad.jacrev(contad.grad(loss))(w), orders.hessian_by_hand(rows, w), atol=1e-12)
    expect_ad(orders.loss_of(np, rows[:4, :3], labels[:4]), w[:3])


def test_a_wrong_hessian_is_noticed():
    runs = orders.by_contad(30)
    orders.check("contad", runs, 30)
    for part in orders.PARTS[2:]:
        right = runs[part]()
        with pytest.raises(Disagreement, match=f"{part} by planted, 30 rows: differs by 0.001 of the largest element"):
            orders.check("planted", runs | {part: lambda right=right: 1.001 * right}, 30)


def test_the_report_shows_every_figure(capsys):
    orders.main(["--quick", "--json"])
    figures = json.loads(capsys.readouterr().out)
    text = orders.report(figures)
    assert "**Quick run: the figures mean nothing.**" in text
    for r in figures["regressions"]:
        for name, seconds in r["seconds"].items():
            (row,) = [line for line in text.splitlines() if line.startswith(f"| {name}, {r['rows']} rows ")]
            for t in seconds.values():
                assert f"{t * 1e6:.1f} ({t / seconds['gradient']:.1f})" in row
    for way in ("whole", "in pieces"):
        assert f"{figures['memory']['bytes'][way] / 1e6:.0f} |" in text


def test_both_chains_have_one_gradient(capsys):
    for way in ("whole", "in pieces"):
        orders.main(["--chain", way, "--size", "10"])
    assert all(int(line) >= 0 for line in capsys.readouterr().out.split())
