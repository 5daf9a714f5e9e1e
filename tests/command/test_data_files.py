"""`--data`: arguments by name from JSON, CSV and .npz files, and an error in one line for whatever they cannot be."""

import json
import pickle

import numpy as np
import pytest

from contad.command.data_files import read_data
from contad.command.user_file import CommandError

SOURCE = """
import numpy as np

weights = np.array([1.0, 2.0])

def line(x, y, slope=2.0, shift=[0.5]):
    return np.sum((y - slope * x - shift[0]) ** 2)

def of_table(data, rate=0.5):
    return rate**2 * np.sum(data["x"] * data["y"])

def of_labels(data, rate=0.5):
    return rate * np.sum(data["x"][data["clinic"] == "north"])

def of_groups(groups, effect=np.ones(2)):
    return np.sum(effect[groups] ** 2)

def of_tree(rows, options, scale=1.5):
    return scale * (rows[1]["a"] * rows[0]["a"] + np.sum(options["table"][:, 1]) * (1.0 if options["doubled"] else 0.0))

def of_start(start):
    return start["a"] * start["b"] ** 2
"""


@pytest.fixture
def run_on(run, tmp_path):
    """Run the command with a data file of this name and text: (status, standard output, standard error)."""

    def run_with(name, content, target, *arguments):
        path = tmp_path / name
        path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
        return run(target, "--data", str(path), *arguments, source=SOURCE)

    return run_with


def gradient(result):
    status, out, err = result
    assert (status, err) == (0, "")
    return json.loads(out)["gradient"]


XY = {"x": [1, 2, 4], "y": [3.0, 5.5, 8.0]}
AS_CSV = "x,y\n1,3.0\n2,5.5\n4,8\n"
X, Y = np.array(XY["x"]), np.array(XY["y"])
OF_LINE = {"slope": float(np.sum(-2 * X * (Y - 2 * X - 0.5))), "shift": [float(np.sum(-2 * (Y - 2 * X - 0.5)))]}


# ---- values ----------------------------------------------------------------------------------------------------------
def test_arguments_come_by_name_from_every_kind_of_file(run_on, tmp_path):
    np.savez(tmp_path / "made.npz", x=X, y=Y)
    for name, content in (
        ("data.json", json.dumps(XY)),
        ("data.csv", AS_CSV),
        ("DATA.CSV", "\ufeff y , x\n3,1\n 5.5,2\n8.0,4\n\n"),  # of a spreadsheet: byte-order mark, spaces, empty lines
        ("data.npz", (tmp_path / "made.npz").read_bytes()),
    ):
        assert gradient(run_on(name, content, "line", "--json", "--check")) == OF_LINE


def test_values_are_numbers_arrays_and_trees(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(
        '{"n": 3, "x": 0.5, "on": true, "m": [[1, 2], [3, 4]], "e": [], "t": {"a": [1.5]}, "l": [{"b": 1}]}'
    )
    found = read_data(str(path)).everything()
    assert (found["n"], found["x"], found["on"], found["l"]) == (3, 0.5, True, [{"b": 1}])
    assert type(found["n"]) is int
    np.testing.assert_array_equal(found["m"], [[1, 2], [3, 4]])
    assert found["m"].dtype.kind == "i"
    assert (found["e"].shape, found["e"].dtype, found["t"]["a"].tolist()) == ((0,), float, [1.5])
    np.savez(tmp_path / "a.npz", n=np.int32(3), x=np.array([1.0, 2.0], np.float32), on=np.array([True, False]))
    found = read_data(str(tmp_path / "a.npz")).everything()
    assert found["n"] == 3 and found["x"].dtype == np.float32 and found["on"].tolist() == [True, False]


def test_integers_stay_integers_where_they_are_constants(run_on):
    for name, content in (("g.json", '{"groups": [0, 1, 1]}'), ("g.csv", "groups\n0\n1\n1\n")):
        assert gradient(run_on(name, content, "of_groups", "--json")) == {"effect": [2.0, 4.0]}


def test_a_parameter_called_data_gets_all_columns(run_on):
    total = float(np.sum(X * Y))
    assert gradient(run_on("data.csv", AS_CSV, "of_table", "--json")) == {"rate": pytest.approx(total)}
    assert gradient(run_on("data.json", json.dumps(XY), "of_table", "--json")) == {"rate": pytest.approx(total)}
    labels = "x,clinic\n1.5,north\n2.5,south\n4,north\n"
    assert gradient(run_on("data.csv", labels, "of_labels", "--json")) == {"rate": 5.5}


def test_trees_are_differentiated(run_on):
    content = '{"rows": [{"a": 2}, {"a": 3}], "options": {"table": [[1, 2], [3, 4]], "doubled": true}}'
    assert gradient(run_on("d.json", content, "of_tree", "--json")) == {"scale": 12.0}
    content = '{"start": {"a": 2.0, "b": 3.0}}'
    assert gradient(run_on("d.json", content, "of_start", "--json")) == {"start": {"a": 9.0, "b": 12.0}}


def test_the_file_moves_the_point_and_at_has_the_last_word(run_on):
    content = json.dumps(XY | {"slope": 1, "shift": [1]})
    moved = {"slope": float(np.sum(-2 * X * (Y - X - 1))), "shift": [float(np.sum(-2 * (Y - X - 1)))]}
    assert gradient(run_on("d.json", content, "line", "--json", "--wrt", "slope,shift")) == moved
    found = run_on("d.json", content, "line", "--json", "--at", "slope=2.0", "--at", "shift=[0.5]")
    assert gradient(found) == OF_LINE


def test_integers_of_the_file_where_the_default_is_a_point_are_differentiated(run_on):
    content = json.dumps(XY | {"shift": [1]})
    assert list(gradient(run_on("d.json", content, "line", "--json"))) == ["slope", "shift"]


def test_the_report_says_what_was_used(run_on):
    status, out, _ = run_on("d.csv", "id,x,y,name\n1,1,3,anne\n2,2,5.5,\n", "line")
    assert status == 0
    (line,) = [line for line in out.splitlines() if line.startswith("data ")]
    assert line.endswith("d.csv: x, y; not used: id, name") and "\nconstant      x (array 2), y (array 2)\n" in out
    found = json.loads(run_on("d.csv", AS_CSV, "line", "--json")[1])["data"]
    assert found["names"] == ["x", "y"]


# ---- errors ----------------------------------------------------------------------------------------------------------
def npz(**arrays):
    """The bytes of an archive."""
    import io

    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


@pytest.mark.parametrize(("name", "content", "message"), [
    ("d.csv", "", "d.csv: expected a header with the names of the columns, got nothing"),
    ("d.csv", "1,2\n3,4\n", "d.csv: expected a header with the names of the columns, got 1, 2"),
    ("d.csv", "x,y\n", "d.csv: expected rows of numbers below the header, got none"),
    ("d.csv", "x;y\n1;2\n", "d.csv: expected commas between the columns, got ';' in the header"),
    ("d.csv", "x,y,x\n1,2,3\n", "d.csv: the column 'x' occurs twice in the header"),
    ("d.csv", "x,y\n1,2\n3\n", "d.csv: row 2 has 1 cell, expected 2 as the header"),
    ("d.csv", "x,y\n1,2\n3,4,5\n", "d.csv: row 2 has 3 cells, expected 2 as the header"),
    ("d.csv", "x,y\n1,2\n3,nan\n", "d.csv: row 2, column 'y': expected a finite number, got 'nan'"),
    ("d.csv", "x,y\n1,2\n-inf,3\n", "d.csv: row 2, column 'x': expected a finite number, got '-inf'"),
    ("d.csv", "x,y\n1,2\n,3\n", "d.csv: row 2, column 'x': expected a finite number, got ''"),
    ("d.csv", "x,y\n1,2\n3,4.5 kg\n", "d.csv: row 2, column 'y': expected a finite number, got '4.5 kg'"),
    ("d.csv", "x,y\n1,1_000\n", "d.csv: row 1, column 'y': expected a finite number, got '1_000'"),
    ("d.csv", "x,Y\n1,2\n", "model.py:line: parameter 'y' has no value; d.csv has no column 'y'; there are x, Y"),
    ("d.csv", "u,v\n1,2\n", "no column has the name of a parameter (x, y, slope, shift); there are u, v"),
    ("d.csv", b"x,y\n1,\xff\n", "d.csv: expected text in UTF-8, got the byte 0xff"),
    ("d.json", "", "d.json: line 1, column 1: Expecting value"),
    ("d.json", '{"x": [1,2],\n "y": [1 2]}', "d.json: line 2, column 10: Expecting ',' delimiter"),
    ("d.json", "[1, 2]", 'd.json: expected an object with a key for each argument, {"x": 1.5}, got a list'),
    ("d.json", '{"x": [1], "y": [1], "x": [2]}', "d.json: the key 'x' occurs twice in one object"),
    ("d.json", '{"x": [1, "2"], "y": 1}', "d.json: key 'x[1]': expected a finite number, got '2'"),
    ("d.json", '{"x": "1", "y": 1}', "d.json: key 'x': expected a finite number, got '1'"),
    ("d.json", '{"x": null, "y": 1}', "d.json: key 'x': expected a finite number, got None"),
    ("d.json", '{"x": [1, NaN], "y": 1}', "d.json: key 'x[1]': expected a finite number, got nan"),
    ("d.json", '{"x": [1, 1e999], "y": 1}', "d.json: key 'x[1]': expected a finite number, got inf"),
    ("d.json", '{"x": [1, true], "y": 1}', "d.json: key 'x[1]': expected a finite number, got True"),
    ("d.json", f'{{"x": [{10**30}], "y": 1}}', "d.json: key 'x[0]': expected an integer of at most 64 bits, got 1"),
    ("d.json", '{"x": [[1, 2], 3], "y": 1}', "d.json: key 'x[1]': expected a list, got 3"),
    ("d.json", '{"x": [{"a": 1}, 3], "y": 1}', "d.json: key 'x[1]': expected an object, got 3"),
    (
        "d.json",
        '{"x": [[1, 2], [3]], "y": 1}',
        "d.json: key 'x': expected rows of one length, got 2 at x[0] and 1 at x[1]",
    ),
    ("d.json", '{"x": {"a": [0, "b"]}, "y": 1}', "d.json: key \"x['a'][1]\": expected a finite number, got 'b'"),
    ("d.json", '{"x": ' + "[" * 100_000 + "}", "d.json: its lists are nested too deeply"),
    ("d.json", '{"x": [1], "yy": [1]}', "parameter 'y' has no value; d.json has no key 'y', but 'yy'"),
    ("d.npz", b"PK nothing", "d.npz: expected an archive made by np.savez, got another file"),
    ("d.npz", b"", "d.npz: expected an archive made by np.savez, got another file"),
    ("d.npz", npz(x=[1, 2], y=[1.0, np.nan]), "d.npz: array 'y[1]': expected a finite number, got nan"),
    ("d.npz", npz(x=np.array([1j]), y=1), "d.npz: array 'x': expected real numbers, got an array of complex128"),
    ("d.npz", npz(x=np.array(["a"]), y=1), "d.npz: array 'x': expected real numbers, got an array of <U1"),
    ("d.npz", npz(x=np.array([{}]), y=1), "d.npz: array 'x': expected numbers, got what cannot be read"),
    ("d.npz", pickle.dumps({"x": 1}), "d.npz: expected an archive made by np.savez, got another file"),
    ("d.npz", npz(x=1.0), "model.py:line: parameter 'y' has no value; d.npz has no array 'y'; there are x"),
])  # fmt: skip
def test_an_error_names_the_place(run_on, name, content, message):
    status, out, err = run_on(name, content, "line")
    assert (status, out) == (2, "") and err.count("\n") == 1 and err.startswith("contad: ")
    assert message in err


def test_a_single_array_is_no_archive(run_on, tmp_path):
    np.save(tmp_path / "one.npy", np.ones(3))
    content = (tmp_path / "one.npy").read_bytes()
    assert "got a single array; use np.savez(x=...)" in run_on("one.npz", content, "line")[2]


def test_a_table_with_a_mixed_column_is_no_data(run_on):
    err = run_on("d.csv", "x,y\n1,2\nn/a,3\n", "of_table")[2]
    assert err.endswith("d.csv: row 2, column 'x': expected a finite number, got 'n/a'\n")


def test_unused_columns_may_hold_anything(tmp_path):
    (tmp_path / "d.csv").write_text("x,name\n1,anne\n2,\n")
    file = read_data(str(tmp_path / "d.csv"))
    assert file.value("x").tolist() == [1, 2]
    with pytest.raises(CommandError, match="row 1, column 'name'"):
        file.value("name")
