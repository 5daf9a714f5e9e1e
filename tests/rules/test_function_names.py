"""What functions name, and copies of them under other names."""

from contad.rules.definition import (
    bind_captured,
    captured_values,
    codes_of,
    copy_under,
    global_names,
    named_values,
)

SCALE = 3.0


def outer(a):
    def f(x, y=2.0, *, z=5.0):
        def inner():
            return SCALE * a

        return inner() + x * y + z + later

    later = 0.5 * a
    return f


def test_names_of_functions_inside_count():
    f = outer(1.5)
    assert [code.co_name for code in codes_of(f.__code__)] == ["f", "inner"]
    assert global_names(f.__code__) == {"SCALE"}
    assert named_values(f) == {"SCALE": 3.0, "a": 1.5, "later": 0.75}


def test_a_captured_name_that_is_not_bound_is_left_out():
    def early():
        return late

    assert captured_values(early) == {}
    late = 1.0
    assert captured_values(early) == {"late": 1.0}


def test_a_copy_has_other_names_and_the_same_parameters():
    f = outer(1.5)
    copy = copy_under(f, {"SCALE": 10.0})
    bind_captured(copy, captured_values(f), lambda x: 2.0 * x)
    assert f(7.0) == 3.0 * 1.5 + 7.0 * 2.0 + 5.0 + 0.75 and copy(7.0) == 10.0 * 3.0 + 7.0 * 2.0 + 5.0 + 1.5
    assert (copy.__name__, copy.__qualname__, copy.__module__) == (f.__name__, f.__qualname__, f.__module__)
