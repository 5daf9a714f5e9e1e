"""A program as compiled code sees it: an array of integers that describe the program and each of its traces.

`run` chooses the trace whose guards hold. Users' compiled code calls `run` by its address in the header.
"""

COUNT, PREFERRED, RUN_AT, KERNELS_AT, SIZE, LENGTHS_AT, FIRST_TRACE = 0, 1, 2, 3, 4, 5, 8
TRACE = 24  # integers for each trace, which are:
ROWS, CELLS, RESULT, PYTHON, INPUTS, CODE_AT, CONSTANTS_AT, SHAPES_AT, CONSTANTS_SIZE, SHAPES_SIZE, SAVED = range(11)
# of its layout
SCRATCH, FRONTIER_AT, FRONTIERS, COPIED_AT, COPIED, ZEROED_AT, ZEROED, FINISHED_AT, FINISHED = range(11, 20)
WRITE, ADD, ZERO = range(3)  # what a number of the gradient does with the adjoint of an input
NO_TRACE, NEEDS_PYTHON, FAILED, NO_MEMORY = -1, -2, -3, -4
ARRAY_DATA, ARRAY_LENGTHS = 2, 4  # words of an array object

RUN, FORWARD, BACKWARD, TANGENTS = range(4)  # tasks: a program, and the loops over the records of one trace
ENDLESS = 1 << 60

SOURCE = '''
@inline
def find_room(header):
    """How many numbers of memory the largest trace of a program needs."""
    room = 0
    for number in range(header[{count}]):
        trace = header[{first_trace} + number * {trace}:]
        room = max(room, 2 * (trace[{cells}] + trace[{saved}] + trace[{scratch}]) + {aligned})
    return room


@inline
def run(header, inputs_at, direction_at, gradient_at, out, memory_at, room):
    """Run the trace of a program whose guards hold: out is (value, slope, a row that stopped a trace, the trace).

    A direction asks for the slope along it, and a gradient is filled in. Returns the number of the trace, NO_TRACE,
    NEEDS_PYTHON, or FAILED if linear algebra is left to Python.
    """
    inputs, direction = array_at(inputs_at, {endless}), array_at(direction_at, {endless})
    gradient, memory = array_at(gradient_at, {endless}), array_at(memory_at, room)
    count = header[{count}]
    kernels = integers_at(header[{kernels_at}], ({purposes}, {array}))
    for attempt in range(count):
        number = (header[{preferred}] + attempt) % count
        trace = header[{first_trace} + number * {trace}:]
        if trace[{python}]:
            out[3] = number
            return {needs_python}
        cells = trace[{cells}]
        code = short_integers_at(trace[{code_at}], (trace[{rows}], 3))
        constants = array_at(trace[{constants_at}], trace[{constants_size}])
        shapes = integers_at(trace[{shapes_at}], trace[{shapes_size}])
        whole = cells + trace[{saved}] + trace[{scratch}]
        memory = memory[-(memory.ctypes.data // 8) % {aligned}:]  # from the start of a cache line on
        values = memory[:whole]
        n = header[{size}]
        values[0] = 0.0
        spans = integers_at(trace[{copied_at}], (trace[{copied}], 2))
        for k in range(len(spans)):
            for i in range(spans[k, 0], spans[k, 0] + spans[k, 1]):
                values[1 + i] = inputs[i]
        row, cell = forward(code, constants, shapes, kernels, values, inputs, 0, n + 1)
        if row < len(code):
            out[2] = row if cell >= 0 else cell
            out[3] = number
            if code[row, 0] >= {first_kernel}:
                return {failed}
            continue
        header[{preferred}] = number
        result = trace[{result}]
        out[0] = values[result] if result > 0 else constants[-1 - result]
        other = memory[whole : 2 * whole]
        if direction_at:
            other[:cells] = 0.0
            for i in range(n):
                other[1 + i] = direction[i]
            row, cell = tangents(code, constants, shapes, kernels, values, other, inputs, 0, n + 1)
            if row < len(code):
                out[3] = number
                return {failed}
            out[1] = other[result] if result > 0 else 0.0
        if gradient_at and result <= 0:
            for i in range(n):
                gradient[i] = 0.0
        elif gradient_at:
            spans = integers_at(trace[{zeroed_at}], (trace[{zeroed}], 2))
            for k in range(len(spans)):
                other[spans[k, 0] : spans[k, 0] + spans[k, 1]] = 0.0
            values[trace[{frontier_at}] : trace[{frontier_at}] + trace[{frontiers}]] = 0.0
            other[result] = 1.0
            row, cell = backward(code, constants, shapes, kernels, values, other, inputs, gradient, len(code) - 1,
                                 cells - 1)
            if row >= 0:
                out[3] = number
                return {failed}
            spans = integers_at(trace[{finished_at}], (trace[{finished}], 3))
            for k in range(len(spans)):
                how = spans[k, 2]
                for i in range(spans[k, 0], spans[k, 0] + spans[k, 1]):
                    if how == {add}:
                        gradient[i] += other[1 + i]
                    else:
                        gradient[i] = other[1 + i] if how == {write} else 0.0
        return number
    return {no_trace}


@inline
def data_of(array):
    """The address of the numbers of an array object; 0 if it has none."""
    return word(array, {array_data}) if word(word(array, {array_lengths}), 0) else 0


@inline
def run_in_room(header_at, inputs_at, direction_at, gradient_at, out_at, memory_at, size):
    """Call `run` in memory of this size, or in memory of its own if that is too little."""
    header = integers_at(header_at, 1 << 30)
    room = find_room(header)
    own = 0
    if size < room:
        own = allocate(8 * room)
        if own == 0:
            return {no_memory}
    found = run(header, inputs_at, direction_at, gradient_at, array_at(out_at, 4), own if own else memory_at, room)
    if own:
        release(own)
    return found


@inline
def loop(given):
    """Run a loop over the records of one trace for Python, given a task, a row, a cell and addresses."""
    row, cell = given[1], given[2]
    code, constants = short_integers_at(given[4], (given[3], 3)), array_at(given[5], {endless})
    shapes, kernels = integers_at(given[6], {endless}), integers_at(given[7], ({purposes}, {array}))
    values, others = array_at(given[8], {endless}), array_at(given[9], {endless})
    inputs, gradient = array_at(given[10], {endless}), array_at(given[11], {endless})
    if given[0] == {forward}:
        row, cell = forward(code, constants, shapes, kernels, values, inputs, row, cell)
    elif given[0] == {backward}:
        row, cell = backward(code, constants, shapes, kernels, values, others, inputs, gradient, row, cell)
    else:
        row, cell = tangents(code, constants, shapes, kernels, values, others, inputs, row, cell)
    given[2] = cell
    return row


@builtin_function
def interpret(_, given, count):
    """Run a program, given the address of its header and the arrays inputs, direction, gradient, out and memory.

    If the count is negative, compiled code calls it with words: a task first, then addresses.
    """
    if count < 0:
        words = integers_at(given, 12)
        if words[0] == {run}:
            return run_in_room(words[1], words[2], words[3], words[4], words[5], 0, 0)
        return loop(words)
    header_at, memory = as_integer(word(given, 0)), word(given, 5)
    inputs, direction, gradient = data_of(word(given, 1)), data_of(word(given, 2)), data_of(word(given, 3))
    out, size = data_of(word(given, 4)), word(word(memory, {array_lengths}), 0)
    lock = give_lock_up()
    found = run_in_room(header_at, inputs, direction, gradient, out, data_of(memory), size)
    take_lock(lock)
    return from_integer(found)
'''
