"""A program as compiled code sees it: an array of integers with what belongs to the program and to each of its traces.

`run` chooses the trace whose guards hold. Compiled code of users calls it by its address in the header.
"""

COUNT, PREFERRED, RUN_AT, KERNELS_AT, SIZE, LENGTHS_AT, FIRST_TRACE = 0, 1, 2, 3, 4, 5, 8
TRACE = 24  # integers of each trace, which are
ROWS, CELLS, RESULT, PYTHON, INPUTS, CODE_AT, CONSTANTS_AT, SHAPES_AT, CONSTANTS_SIZE, SHAPES_SIZE, SAVED = range(11)
# of its plan
SCRATCH, FRONTIER_AT, FRONTIERS, COPIED_AT, COPIED, ZEROED_AT, ZEROED, FINISHED_AT, FINISHED = range(11, 20)
WRITE, ADD, ZERO = range(3)  # how numbers of the gradient are made of the adjoints of inputs
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
    kernels = carray(pointer(header[{kernels_at}]), ({purposes}, {array}), np.uintp)
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
        whole = cells + trace[{saved}] + trace[{scratch}]
        if len(memory) < 2 * whole + {aligned}:
            memory = np.empty(2 * whole + {aligned})
        memory = memory[-(memory.ctypes.data // 8) % {aligned}:]  # from the start of a cache line on
        values = memory[:whole]
        n = len(inputs)
        values[0] = 0.0
        spans = carray(pointer(trace[{copied_at}]), (trace[{copied}], 2), np.int64)
        for k in range(len(spans)):
            for i in range(spans[k, 0], spans[k, 0] + spans[k, 1]):
                values[1 + i] = inputs[i]
        row, cell = forward(code, constants, shapes, kernels, values, inputs, 0, n + 1)
        if row < len(code):
            out[2] = row if cell >= 0 else cell
            out[3] = number
            if code[row, 0] >= {first_step}:
                return {failed}
            continue
        header[{preferred}] = number
        result = trace[{result}]
        out[0] = values[result] if result > 0 else constants[-1 - result]
        other = memory[whole : 2 * whole]
        if len(direction):
            other[:cells] = 0.0
            for i in range(n):
                other[1 + i] = direction[i]
            row, cell = tangents(code, constants, shapes, kernels, values, other, inputs, 0, n + 1)
            if row < len(code):
                out[3] = number
                return {failed}
            out[1] = other[result] if result > 0 else 0.0
        if len(gradient) and result <= 0:
            for i in range(n):
                gradient[i] = 0.0
        elif len(gradient):
            spans = carray(pointer(trace[{zeroed_at}]), (trace[{zeroed}], 2), np.int64)
            for k in range(len(spans)):
                other[spans[k, 0] : spans[k, 0] + spans[k, 1]] = 0.0
            values[trace[{frontier_at}] : trace[{frontier_at}] + trace[{frontiers}]] = 0.0
            other[result] = 1.0
            row, cell = backward(code, constants, shapes, kernels, values, other, inputs, gradient, len(code) - 1,
                                 cells - 1)
            if row >= 0:
                out[3] = number
                return {failed}
            spans = carray(pointer(trace[{finished_at}]), (trace[{finished}], 3), np.int64)
            for k in range(len(spans)):
                how = spans[k, 2]
                for i in range(spans[k, 0], spans[k, 0] + spans[k, 1]):
                    if how == {add}:
                        gradient[i] += other[1 + i]
                    else:
                        gradient[i] = other[1 + i] if how == {write} else 0.0
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
