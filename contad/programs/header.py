"""A program as compiled code sees it: an array of integers with what belongs to the program and to each of its traces.

`run` chooses the trace whose guards hold. Compiled code of users calls it by its address in the header.
"""

COUNT, PREFERRED, RUN_AT, KERNELS_AT, SIZE, LENGTHS_AT, FIRST_TRACE = 0, 1, 2, 3, 4, 5, 8
TRACE = 12  # integers of each trace, which are
ROWS, CELLS, RESULT, PYTHON, INPUTS, CODE_AT, CONSTANTS_AT, SHAPES_AT, CONSTANTS_SIZE, SHAPES_SIZE, SAVED = range(11)
NO_TRACE, NEEDS_PYTHON, FAILED = -1, -2, -3

RUN = '''
@njit("int64(int64, float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])", {options})
def run(header_at, inputs, direction, gradient, out, memory):
    """Run the trace of a program whose guards hold: out is (value, slope, a row that stopped a trace, the trace).

    The slope is along `direction` where that has elements, the gradient is filled in where it has. `memory` is used
    where it has two numbers for each cell, and those that are saved. Returns the number of the trace, NO_TRACE,
    NEEDS_PYTHON, or FAILED where a step of linear algebra is left to Python.
    """
    header = carray(pointer(header_at), (1 << 30,), np.int64)
    count = header[{count}]
    kernels = carray(pointer(header[{kernels_at}]), (3, {array}), np.uintp)
    for attempt in range(count):
        number = (header[{preferred}] + attempt) % count
        trace = header[{first_trace} + number * {trace}:]
        if trace[{python}]:
            out[3] = number
            return {needs_python}
        cells = trace[{cells}]
        code = carray(pointer(trace[{code_at}]), (trace[{rows}], 3), np.uint32)
        constants = carray(pointer(trace[{constants_at}]), (trace[{constants_size}],), np.float64)
        shapes = carray(pointer(trace[{shapes_at}]), (trace[{shapes_size}],), np.int64)
        whole = cells + trace[{saved}]
        if len(memory) < whole + cells:
            memory = np.empty(whole + cells)
        values = memory[:whole]
        n = len(inputs)
        values[0] = 0.0
        for i in range(n):
            values[1 + i] = inputs[i]
        row, cell = forward(code, constants, shapes, kernels, values, 0, n + 1)
        if row < len(code):
            out[2] = row
            out[3] = number
            if code[row, 0] >= {first_step}:
                return {failed}
            continue
        header[{preferred}] = number
        result = trace[{result}]
        out[0] = values[result] if result > 0 else constants[-1 - result]
        if len(gradient) or len(direction):
            other = memory[whole : whole + cells]
            other[:] = 0.0
            if len(direction):
                for i in range(n):
                    other[1 + i] = direction[i]
                row, cell = tangents(code, constants, shapes, kernels, values, other, 0, n + 1)
                if row < len(code):
                    out[3] = number
                    return {failed}
                out[1] = other[result] if result > 0 else 0.0
                other[:] = 0.0
            if len(gradient):
                if result > 0:
                    other[result] = 1.0
                    row, cell = backward(code, constants, shapes, kernels, values, other, len(code) - 1, cells - 1)
                    if row >= 0:
                        out[3] = number
                        return {failed}
                for i in range(n):
                    gradient[i] = other[1 + i]
        return number
    return {no_trace}


@cfunc("int64(int64, CPointer(float64), CPointer(float64), int64, CPointer(float64), int64, CPointer(float64))",
       cache=True)
def run_at(header_at, inputs, direction, directions, gradient, gradients, out):
    """`run` by its address; 0 where it fails, a number of a trace one more."""
    header = carray(pointer(header_at), (1 << 30,), np.int64)
    number = run(header_at, carray(inputs, (header[{size}],)), carray(direction, (directions,)),
                 carray(gradient, (gradients,)), carray(out, (4,)), np.empty(0))
    return number + 1 if number >= 0 else number
'''
