"""The loops of chains, as source of the interpreter: blocks of units, the kernels of all members for each of them.

Scratch memory lies behind the cells, among the values and among the adjoints; what kernels take for constants is there
as well. `chain` is the place of `contad.programs.chains.Chain` in the shapes.
"""

SOURCE = '''
@njit({borrowing})
def copy_numbers(source, place, target, z, n):
    """Copy n numbers; slices, whose index runs from 0, are what the compiler takes to vector registers."""
    a, b = source[place : place + n], target[z : z + n]
    for i in range(n):
        b[i] = a[i]


@njit({borrowing})
def add_numbers(source, place, target, z, n):
    """Add n numbers."""
    a, b = source[place : place + n], target[z : z + n]
    for i in range(n):
        b[i] += a[i]


@njit({borrowing})
def copy_units(source, place, apart, width, step, units, target, z):
    """Copy units of an operand to scratch memory, one after the other."""
    if apart == width and step == 1:
        copy_numbers(source, place, target, z, units * width)
        return
    for u in range(units):
        if step == 1:
            copy_numbers(source, place + u * apart, target, z + u * width, width)
        else:
            for i in range(width):
                target[z + u * width + i] = source[place + u * apart + i * step]


@njit({borrowing})
def copy_fixed(chain, shapes, source, constants, target):
    """Copy the operands that do not go along to scratch memory."""
    for k in range(shapes[chain + {fixed}]):
        e = shapes[shapes[chain + {fixed_at}] + {entry} * k:]
        copy_units(constants if e[1] == {in_constants} else source, e[2], 0, e[3], e[4], 1, target, e[0])


@njit({borrowing})
def load_block(chain, shapes, first, units, values, inputs, constants, only_needed):
    """Copy the values of a block to scratch memory."""
    for k in range(shapes[chain + {moving}]):
        e = shapes[shapes[chain + {moving_at}] + {entry} * k:]
        if only_needed and e[6] == 0:
            continue
        low, high = max(first, e[12]), min(first + units, e[13])
        if low < high:
            source = inputs if e[1] == {in_inputs} else constants if e[1] == {in_constants} else values
            copy_units(source, e[2] + (low - e[12]) * e[3], e[3], e[4], e[5], high - low, values,
                       e[0] + (low - first) * e[4])


@njit({borrowing})
def repeat_members(chain, shapes, is_rest, kernels, values):
    """The values of members that derivatives read."""
    for k in range(shapes[chain + {members}]):
        e = shapes[shapes[chain + {members_at}] + {entry} * k:]
        if e[4] != 0:
            call_kernel(kernels[0, e[0] - {array}], shapes[e[1 + is_rest]:].ctypes.data, values.ctypes.data,
                        values.ctypes.data, values.ctypes.data)


@njit({borrowing})
def chain_forward(chain, constants, shapes, kernels, values, inputs):
    """The values of a chain; the row of a guard that does not hold, or -1."""
    copy_fixed(chain, shapes, values, constants, values)
    n, block = shapes[chain + {units}], shapes[chain + {block_units}]
    for k in range(shapes[chain + {sums}]):
        e = shapes[shapes[chain + {sums_at}] + {entry} * k:]
        for i in range(e[2]):
            values[e[1] + i] = -0.0
    first = 0
    while first < n:
        units = min(block, n - first)
        is_rest = 1 if units < block else 0
        load_block(chain, shapes, first, units, values, inputs, constants, False)
        for k in range(shapes[chain + {members}]):
            e = shapes[shapes[chain + {members_at}] + {entry} * k:]
            if e[6] == 0:
                call_kernel(kernels[0, e[0] - {array}], shapes[e[1 + is_rest]:].ctypes.data, values.ctypes.data,
                            values.ctypes.data, values.ctypes.data)
            elif not compared(shapes[e[1 + is_rest]:], values, values):
                return e[3]
        for k in range(shapes[chain + {outputs}]):
            e = shapes[shapes[chain + {outputs_at}] + {entry} * k:]
            copy_units(values, e[0], e[2], e[2], 1, units, values, e[1] + first * e[2])
        for k in range(shapes[chain + {sums}]):
            e = shapes[shapes[chain + {sums_at}] + {entry} * k:]
            for i in range(e[2]):
                values[e[1] + i] += values[e[0] + i]
        first += units
    return -1


@njit({borrowing})
def add_first(target, start, n, source, z, frontier, low, values):
    """Add adjoints to n elements from a start, those from the frontier on for the first time, which is moved."""
    written = low + np.int64(values[frontier])
    for i in range(written, start):
        target[i] = 0.0
    known = min(max(written - start, 0), n)
    add_numbers(source, z, target, start, known)
    copy_numbers(source, z + known, target, start + known, n - known)
    values[frontier] = max(written, start + n) - low


@njit({borrowing})
def store_block(chain, shapes, first, units, values, adjoints, gradient):
    """Pass the adjoints of a block's operands on."""
    for k in range(shapes[chain + {moving}]):
        e = shapes[shapes[chain + {moving_at}] + {entry} * k:]
        low, high = max(first, e[12]), min(first + units, e[13])
        if e[11] < 0 or low >= high:
            continue
        place, apart, width, step = e[14] + (low - e[12]) * e[3], e[3], e[4], e[5]
        slot = e[11] + (low - first) * width
        if e[8] >= 0:
            target = gradient if e[1] == {in_inputs} else adjoints
            add_first(target, place, (high - low) * width, adjoints, slot, e[8], e[9], values)
        elif apart == width and step == 1:
            add_numbers(adjoints, slot, adjoints, place, (high - low) * width)
        else:
            for u in range(high - low):
                for i in range(width):
                    adjoints[place + u * apart + i * step] += adjoints[slot + u * width + i]


@njit({borrowing})
def chain_backward(chain, constants, shapes, kernels, values, adjoints, inputs, gradient):
    """The adjoints of a chain."""
    n, block, kept = shapes[chain + {units}], shapes[chain + {block_units}], shapes[chain + {is_kept}]
    if kept == 0:
        copy_fixed(chain, shapes, values, constants, values)
    for k in range(shapes[chain + {fixed}]):
        e = shapes[shapes[chain + {fixed_at}] + {entry} * k:]
        for i in range(e[3]):
            adjoints[e[0] + i] = 0.0
    is_live = False
    for k in range(shapes[chain + {sums}]):
        e = shapes[shapes[chain + {sums_at}] + {entry} * k:]
        for i in range(e[2]):
            adjoints[e[0] + i] = adjoints[e[1] + i]
        is_live = is_live or live(adjoints, e[0], e[2])
    first = 0
    while first < n:
        units = min(block, n - first)
        is_rest = 1 if units < block else 0
        is_due = is_live
        for k in range(shapes[chain + {outputs}]):
            e = shapes[shapes[chain + {outputs_at}] + {entry} * k:]
            copy_units(adjoints, e[4] + first * e[2], e[2], e[2], 1, units, adjoints, e[3])
            is_due = is_due or live(adjoints, e[3], units * e[2])
        if is_due:
            if kept == 0:
                load_block(chain, shapes, first, units, values, inputs, constants, True)
                repeat_members(chain, shapes, is_rest, kernels, values)
            for k in range(shapes[chain + {members}] - 1, -1, -1):
                e = shapes[shapes[chain + {members_at}] + {entry} * k:]
                if e[5] != 0:
                    for c in range(7, 11, 2):  # what it adds to without being the first to write
                        for i in range(e[c + 1]):
                            adjoints[e[c] + i] = 0.0
                    call_kernel(kernels[e[5], e[0] - {array}], shapes[e[1 + is_rest]:].ctypes.data, values.ctypes.data,
                                values.ctypes.data, adjoints.ctypes.data)
            store_block(chain, shapes, first, units, values, adjoints, gradient)
        first += units
    for k in range(shapes[chain + {fixed}]):
        e = shapes[shapes[chain + {fixed_at}] + {entry} * k:]
        if e[5] != 0:
            for i in range(e[3]):
                adjoints[e[2] + i * e[4]] += adjoints[e[0] + i]
    for k in range(shapes[chain + {moving}]):  # what no block has written
        e = shapes[shapes[chain + {moving_at}] + {entry} * k:]
        if e[8] >= 0:
            target = gradient if e[1] == {in_inputs} else adjoints
            for i in range(e[9] + np.int64(values[e[8]]), e[10]):
                target[i] = 0.0
            values[e[8]] = e[10] - e[9]


@njit({borrowing})
def chain_tangents(chain, constants, shapes, kernels, values, dots, inputs):
    """The tangents of a chain."""
    n, block, kept = shapes[chain + {units}], shapes[chain + {block_units}], shapes[chain + {is_kept}]
    if kept == 0:
        copy_fixed(chain, shapes, values, constants, values)
    copy_fixed(chain, shapes, dots, constants, dots)
    first = 0
    zero, zeros = shapes[chain + {zero_at}], shapes[chain + {zero_count}]
    while first < n:
        units = min(block, n - first)
        is_rest = 1 if units < block else 0
        dots[zero : zero + zeros] = 0.0
        if kept == 0:
            load_block(chain, shapes, first, units, values, inputs, constants, True)
            repeat_members(chain, shapes, is_rest, kernels, values)
        for k in range(shapes[chain + {moving}]):
            e = shapes[shapes[chain + {moving_at}] + {entry} * k:]
            low, high = max(first, e[12]), min(first + units, e[13])
            if e[7] != 0 and low < high:
                place = e[2] + (1 if e[1] == {in_inputs} else 0) + (low - e[12]) * e[3]
                copy_units(dots, place, e[3], e[4], e[5], high - low, dots, e[0] + (low - first) * e[4])
        for k in range(shapes[chain + {sums}]):
            e = shapes[shapes[chain + {sums_at}] + {entry} * k:]
            dots[e[0] : e[0] + e[2]] = 0.0
        for k in range(shapes[chain + {members}]):
            e = shapes[shapes[chain + {members_at}] + {entry} * k:]
            if e[6] == 0:
                call_kernel(kernels[2, e[0] - {array}], shapes[e[1 + is_rest]:].ctypes.data, values.ctypes.data,
                            values.ctypes.data, dots.ctypes.data)
        for k in range(shapes[chain + {outputs}]):
            e = shapes[shapes[chain + {outputs_at}] + {entry} * k:]
            copy_units(dots, e[0], e[2], e[2], 1, units, dots, e[1] + first * e[2])
        for k in range(shapes[chain + {sums}]):
            e = shapes[shapes[chain + {sums_at}] + {entry} * k:]
            for i in range(e[2]):
                dots[e[1] + i] += dots[e[0] + i]
        first += units
'''
