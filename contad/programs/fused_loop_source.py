"""Fused loops as the interpreter reads them, and the source with which it runs them.

For each strip of units the interpreter calls the kernels of all members. Scratch memory follows the cells, both for
values and for adjoints. Kernels get one base address for values, constants and adjoints, the lowest address that the
run reads, so they read inputs, cells and constants in place. A run has its own shapes for the kernels, which advance
from strip to strip. In the source, `fused` is the place of a fused loop in the shapes.
"""

from collections.abc import Callable, Iterable, Sequence

from contad.programs.allocation import Allocation
from contad.programs.fused_loops import IN_CELLS, NOWHERE, PLACES, SHAPE, FusedLoop, OperandPart, StripPlace

# places in the integers of a fused loop, and widths of their entries
UNITS, STRIP_UNITS, IS_KEPT, BOUND_AT = range(4)
FIXED_AT, FIXED, MOVING_AT, MOVING, OUTPUTS_AT, OUTPUTS, SUMS_AT, SUMS, MEMBERS_AT, MEMBERS = range(4, 14)
STEPS_AT, STEPS, FILLS_AT, FILLS = range(14, 18)
ENTRY = 18  # integers
FILL = 7
BASES = 8  # integers before the shapes of a run: where the memory of values and of adjoints begins


def write_loop(fused: FusedLoop, allocation: Allocation, shape: Callable[[Iterable[int]], int]) -> int:
    """Write a fused loop to the shapes; returns its place there."""
    locate = fused.locate

    def place_of(part: OperandPart) -> int:
        return allocation.value_place(part.place) if part.source == IN_CELLS else part.place

    def at(place: StripPlace | None) -> int:
        return -1 if place is None else locate(place, True).at

    fixed, moving, outputs, totals, members, steps = [], [], [], [], [], []
    for o, part in fused.parts:
        slot = -1 if o.is_read_in_place else locate(o.value, False).at
        source = slot, part.source, place_of(part)
        if not o.layout.is_moving:
            fixed.append((*source, part.width, part.step, int(o.is_active), at(o.adjoint)))
            continue
        first, low, high = allocation.frontier(part) if o.is_active else (-1, 0, 0)
        adjoints = allocation.adjoint_place(part.place) if part.source == IN_CELLS else part.place
        moving.append((
            *source, part.apart, part.width, part.step, int(o.is_needed), int(o.is_active), first, low, high,
            at(o.adjoint), part.low, part.high, int(o.is_direct), o.adjoint.apart if o.adjoint else 0, adjoints,
        ))  # fmt: skip
    ends = {first + count - 1: (number, count) for first, (number, count) in fused.groups_back.items()}
    for k, m in enumerate(fused.members):
        integers, places = fused.shapes[k]
        rest, _ = m.write_shape(fused.units % fused.strip, locate)
        full = shape([*integers, *(place.memory for place in places), *rest[1:3]])
        for n, place in zip(PLACES, places, strict=True):
            if place.apart and place.memory != NOWHERE and not fused.is_kept:
                steps.append((BASES + SHAPE * k + n, place.apart))
        cleared = [n for slot, width in m.cleared for n in (at(slot), width * fused.strip)]
        z = locate(m.value, False)
        members.append((
            m.code, full, m.row, int(m.is_needed), m.purpose, int(m.is_guard), z.at, z.apart, m.width,
            int(m.is_sum), *(*cleared, 0, 0, 0, 0)[:4], *fused.groups.get(k, (0, 0)), *ends.get(k, (0, 0)),
        ))  # fmt: skip
        if m.is_sum:
            totals.append((z.at, allocation.value_place(m.first), m.width))
        elif m.is_stored and m.is_output:
            outputs.append((allocation.adjoint_place(m.first), m.width))
    head = [fused.units, fused.strip, int(fused.is_kept), allocation.bound]
    for entries in (fixed, _join_targets(moving), outputs, totals, members):
        place_of_entries = shape(n for entry in entries for n in (*entry, *(0,) * (ENTRY - len(entry))))
        head += [place_of_entries, len(entries)]
    fills = [
        (locate(place, False).at, part.source, place_of(part), part.apart, part.width, part.step, part.high - part.low)
        for place, part in fused.fills
    ]
    for pairs in (steps, fills):
        head += [shape(n for entry in pairs for n in entry), len(pairs)]
    return shape(head)


def _join_targets(moving: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Parts of operands by the range in which their adjoints begin, at most three to a group, and the group's size."""
    by_frontier: dict[int, list[tuple[int, ...]]] = {}
    for number, e in enumerate(moving):
        is_joined = e[8] >= 0 and e[11] >= 0 and not e[14] and e[13] - e[12] > 1
        by_frontier.setdefault(e[8] if is_joined else -1 - number, []).append(e)
    found = []
    for parts in by_frontier.values():
        count = min(len(parts), 3)
        found += [(*parts[0], count), *((*e, 0) for e in parts[1:])]
    return found


SOURCE = '''
@inline
def copy_numbers(source, place, target, z, n):
    """Copy n numbers, in slices because the compiler vectorises loops whose index starts at 0."""
    a, b = source[place : place + n], target[z : z + n]
    for i in range(n):
        b[i] = a[i]


@inline
def add_numbers(source, place, target, z, n):
    """Add n numbers."""
    a, b = source[place : place + n], target[z : z + n]
    for i in range(n):
        b[i] += a[i]


@inline
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


@inline
def copy_fixed(fused, shapes, source, constants, target):
    """Copy operands that are the same for all units to scratch memory if kernels cannot read them in place."""
    for k in range(shapes[fused + {fixed}]):
        e = shapes[shapes[fused + {fixed_at}] + {entry} * k:]
        if e[0] >= 0:
            copy_units(constants if e[1] == {in_constants} else source, e[2], 0, e[3], e[4], 1, target, e[0])


@inline
def fill_room(fused, shapes, source, inputs, constants, target, first_input):
    """Copy parts of operands to the room beside results; `first_input` is the index of the first input."""
    for k in range(shapes[fused + {fills}]):
        e = shapes[shapes[fused + {fills_at}] + {fill} * k:]
        place = e[2] + first_input if e[1] == {in_inputs} else e[2]
        memory = inputs if e[1] == {in_inputs} else constants if e[1] == {in_constants} else source
        copy_units(memory, place, e[3], e[4], e[5], e[6], target, e[0])


@inline
def load_strip(fused, shapes, first, units, values, inputs, constants, only_needed):
    """Copy the values of a strip to scratch memory if kernels cannot read them in place."""
    for k in range(shapes[fused + {moving}]):
        e = shapes[shapes[fused + {moving_at}] + {entry} * k:]
        if e[0] < 0 or only_needed and e[6] == 0:
            continue
        low, high = max(first, e[12]), min(first + units, e[13])
        if low < high:
            source = inputs if e[1] == {in_inputs} else constants if e[1] == {in_constants} else values
            copy_units(source, e[2] + (low - e[12]) * e[3], e[3], e[4], e[5], high - low, values,
                       e[0] + (low - first) * e[4])


@inline
def lowest(a, b):
    """The lower of two addresses, as an integer."""
    return min(np.int64(a), np.int64(b))


@inline
def bind(fused, shapes, bound, low, values_at, inputs_at, constants_at, adjoints_at, gradient_at):
    """Write the shapes of members for the first strip of this run; places count numbers from the address `low`."""
    bound[{in_cells}], bound[4 + {in_cells}] = (values_at - low) // 8, (adjoints_at - low) // 8
    bound[{in_inputs}], bound[4 + {in_inputs}] = (inputs_at - low) // 8, (gradient_at - low) // 8
    bound[{in_constants}], bound[4 + {in_constants}] = (constants_at - low) // 8, 0
    bound[{nowhere}], bound[4 + {nowhere}] = 0, 0
    for k in range(shapes[fused + {members}]):
        s = shapes[shapes[shapes[fused + {members_at}] + {entry} * k + 1]:]
        b = bound[{bases} + {shape} * k:]
        for i in range({shape}):
            b[i] = s[i]
        b[0] += bound[s[{shape}]]
        b[5] += bound[s[{shape} + 1]]
        b[8] += bound[s[{shape} + 2]]
        b[11] += bound[4 + s[{shape} + 3]]
        b[12] += bound[4 + s[{shape} + 4]]
        b[13] += bound[4 + s[{shape} + 5]]


@inline
def cut(fused, shapes, bound):
    """Change the shapes to those of the last strip, which has fewer units."""
    for k in range(shapes[fused + {members}]):
        s = shapes[shapes[shapes[fused + {members_at}] + {entry} * k + 1]:]
        bound[{bases} + {shape} * k + 1] = s[{shape} + 6]
        bound[{bases} + {shape} * k + 2] = s[{shape} + 7]


@inline
def advance(fused, shapes, bound, units):
    """Change the shapes to those of the next strip, which begins so many units later."""
    for k in range(shapes[fused + {steps}]):
        e = shapes[shapes[fused + {steps_at}] + 2 * k:]
        bound[e[0]] += e[1] * units


@inline
def repeat_members(fused, shapes, bound, kernels, low):
    """Recompute the values of members that derivatives read and that have no cells."""
    for k in range(shapes[fused + {members}]):
        e = shapes[shapes[fused + {members_at}] + {entry} * k:]
        if e[3] != 0:
            call_kernel(kernels[0, e[0] - {array}], bound[{bases} + {shape} * k:].ctypes.data, low, low, low)


@inline
def fused_forward(fused, constants, shapes, kernels, values, inputs):
    """Compute the values of a fused loop; return the row of a guard that does not hold, or -1."""
    copy_fixed(fused, shapes, values, constants, values)
    fill_room(fused, shapes, values, inputs, constants, values, 0)
    low = lowest(lowest(values.ctypes.data, inputs.ctypes.data), constants.ctypes.data)
    bound = integers_at(values[shapes[fused + {bound_at}]:].ctypes.data, 1 << 20)
    bind(fused, shapes, bound, low, np.int64(values.ctypes.data), np.int64(inputs.ctypes.data),
         np.int64(constants.ctypes.data), low, low)
    whole = array_at(low, 1 << 59)
    n, strip = shapes[fused + {units}], shapes[fused + {strip_units}]
    for k in range(shapes[fused + {sums}]):
        e = shapes[shapes[fused + {sums_at}] + {entry} * k:]
        for i in range(e[2]):
            values[e[1] + i] = -0.0
    first = 0
    while first < n:
        units = min(strip, n - first)
        if units < strip:
            cut(fused, shapes, bound)
        load_strip(fused, shapes, first, units, values, inputs, constants, False)
        k = 0
        while k < shapes[fused + {members}]:
            e = shapes[shapes[fused + {members_at}] + {entry} * k:]
            own = bound[{bases} + {shape} * k:]
            if e[14] != 0:
                call_kernel(kernels[{groups}, e[14]], own.ctypes.data, low, low, low)
                k += e[15]
                continue
            if e[5] == 0:
                call_kernel(kernels[0, e[0] - {array}], own.ctypes.data, low, low, low)
            elif not compared(own, whole, whole):
                return e[2]
            k += 1
        for k in range(shapes[fused + {sums}]):
            e = shapes[shapes[fused + {sums_at}] + {entry} * k:]
            for i in range(e[2]):
                values[e[1] + i] += values[e[0] + i]
        advance(fused, shapes, bound, units)
        first += units
    return -1


@inline
def add_first(target, start, n, source, z, frontier, low, values):
    """Add adjoints to n elements from a start; write those from the frontier on, and move the frontier."""
    written = low + np.int64(values[frontier])
    for i in range(written, start):
        target[i] = 0.0
    known = min(max(written - start, 0), n)
    add_numbers(source, z, target, start, known)
    copy_numbers(source, z + known, target, start + known, n - known)
    values[frontier] = max(written, start + n) - low


@inline
def open_strip(fused, shapes, first, units, values, adjoints, gradient):
    """Clear the adjoints before a strip whose adjoints kernels write in place."""
    for k in range(shapes[fused + {moving}]):
        e = shapes[shapes[fused + {moving_at}] + {entry} * k:]
        if e[14] != 0:
            target = gradient if e[1] == {in_inputs} else adjoints
            start = e[16] + first * e[3]
            for i in range(e[9] + np.int64(values[e[8]]), start):
                target[i] = 0.0
            values[e[8]] = start + units * e[4] - e[9]


@inline
def store_part(e, first, units, values, adjoints, gradient):
    """Pass on the adjoints of a part of an operand."""
    low, high = max(first, e[12]), min(first + units, e[13])
    if e[11] < 0 or e[14] != 0 or low >= high:
        return
    place, apart, width, step = e[16] + (low - e[12]) * e[3], e[3], e[4], e[5]
    own = e[11] + first * e[15] + (low - first) * width
    if e[8] >= 0:
        target = gradient if e[1] == {in_inputs} else adjoints
        add_first(target, place, (high - low) * width, adjoints, own, e[8], e[9], values)
    elif apart == width and step == 1:
        add_numbers(adjoints, own, adjoints, place, (high - low) * width)
    else:
        for u in range(high - low):
            for i in range(width):
                adjoints[place + u * apart + i * step] += adjoints[own + u * width + i]


@inline
def reach_of_part(e, first, units):
    """The range of elements that a strip adds to in one part, and the distance to the adjoints that it adds."""
    low, high = max(first, e[12]), min(first + units, e[13])
    start = e[16] + (low - e[12]) * e[4]
    return start, start + max(high - low, 0) * e[4], e[11] + first * e[15] + (low - first) * e[4] - start


@inline
def write_sums(source, a, b, c, target, z, n):
    """Write the sums of two arrays, or of three if c is a place."""
    x, y, t = source[a : a + n], source[b : b + n], target[z : z + n]
    if c < 0:
        for i in range(n):
            t[i] = x[i] + y[i]
    else:
        w = source[c : c + n]
        for i in range(n):
            t[i] = x[i] + y[i] + w[i]


@inline
def store_together(parts, count, first, units, values, adjoints, gradient):
    """Pass on the adjoints of two or three parts to one range, in one loop where no strip has written before."""
    last = {entry} * (count - 1)
    frontier, base = parts[8], parts[9]
    target = gradient if parts[1] == {in_inputs} else adjoints
    start_a, end_a, by_a = reach_of_part(parts, first, units)
    start_b, end_b, by_b = reach_of_part(parts[{entry}:], first, units)
    start_c, end_c, by_c = reach_of_part(parts[last:], first, units)
    low = max(max(start_a, base + np.int64(values[frontier])), max(start_b, start_c))
    high = min(end_a, min(end_b, end_c))
    if high <= low:
        for k in range(count):
            store_part(parts[{entry} * k:], first, units, values, adjoints, gradient)
        return
    add_first(target, start_a, low - start_a, adjoints, by_a + start_a, frontier, base, values)
    write_sums(adjoints, by_a + low, by_b + low, by_c + low if count > 2 else -1, target, low, high - low)
    values[frontier] = high - base
    add_first(target, high, end_a - high, adjoints, by_a + high, frontier, base, values)
    add_first(target, start_b, low - start_b, adjoints, by_b + start_b, frontier, base, values)
    add_first(target, high, end_b - high, adjoints, by_b + high, frontier, base, values)
    if count > 2:
        add_first(target, start_c, low - start_c, adjoints, by_c + start_c, frontier, base, values)
        add_first(target, high, end_c - high, adjoints, by_c + high, frontier, base, values)


@inline
def store_strip(fused, shapes, first, units, values, adjoints, gradient):
    """Pass on the adjoints of the operands of a strip."""
    k = 0
    while k < shapes[fused + {moving}]:
        e = shapes[shapes[fused + {moving_at}] + {entry} * k:]
        if e[17] > 1:
            store_together(e, e[17], first, units, values, adjoints, gradient)
            k += e[17]
            continue
        store_part(e, first, units, values, adjoints, gradient)
        k += 1


@inline
def fused_backward(fused, constants, shapes, kernels, values, adjoints, inputs, gradient):
    """Compute the adjoints of a fused loop."""
    n, strip, kept = shapes[fused + {units}], shapes[fused + {strip_units}], shapes[fused + {is_kept}]
    low = lowest(lowest(lowest(values.ctypes.data, inputs.ctypes.data), constants.ctypes.data),
                 lowest(adjoints.ctypes.data, gradient.ctypes.data))
    bound = integers_at(values[shapes[fused + {bound_at}]:].ctypes.data, 1 << 20)
    bind(fused, shapes, bound, low, np.int64(values.ctypes.data), np.int64(inputs.ctypes.data),
         np.int64(constants.ctypes.data), np.int64(adjoints.ctypes.data), np.int64(gradient.ctypes.data))
    if kept == 0:
        copy_fixed(fused, shapes, values, constants, values)
    for k in range(shapes[fused + {fixed}]):
        e = shapes[shapes[fused + {fixed_at}] + {entry} * k:]
        if e[6] >= 0:
            for i in range(e[3]):
                adjoints[e[6] + i] = 0.0
    is_live = False
    for k in range(shapes[fused + {sums}]):
        e = shapes[shapes[fused + {sums_at}] + {entry} * k:]
        is_live = is_live or live(adjoints, e[1], e[2])
    first = 0
    while first < n:
        units = min(strip, n - first)
        if units < strip:
            cut(fused, shapes, bound)
        is_due = is_live
        for k in range(shapes[fused + {outputs}]):
            e = shapes[shapes[fused + {outputs_at}] + {entry} * k:]
            is_due = is_due or live(adjoints, e[0] + first * e[1], units * e[1])
        if is_due:
            open_strip(fused, shapes, first, units, values, adjoints, gradient)
            if kept == 0:
                load_strip(fused, shapes, first, units, values, inputs, constants, True)
                repeat_members(fused, shapes, bound, kernels, low)
            k = shapes[fused + {members}]
            while k > 0:
                k -= 1
                e = shapes[shapes[fused + {members_at}] + {entry} * k:]
                if e[16] != 0:
                    k -= e[17] - 1
                    own = bound[{bases} + {shape} * k:]
                    call_kernel(kernels[{groups}, e[16]], own.ctypes.data, low, low, low)
                elif e[4] != 0:
                    for c in range(10, 14, 2):  # adjoints that it adds to before anybody writes them
                        for i in range(e[c + 1]):
                            adjoints[e[c] + i] = 0.0
                    call_kernel(kernels[e[4], e[0] - {array}], bound[{bases} + {shape} * k:].ctypes.data, low, low, low)
            store_strip(fused, shapes, first, units, values, adjoints, gradient)
        advance(fused, shapes, bound, units)
        first += units
    for k in range(shapes[fused + {fixed}]):
        e = shapes[shapes[fused + {fixed_at}] + {entry} * k:]
        if e[6] >= 0:
            for i in range(e[3]):
                adjoints[e[2] + i * e[4]] += adjoints[e[6] + i]
    for k in range(shapes[fused + {moving}]):  # the adjoints that no strip has written
        e = shapes[shapes[fused + {moving_at}] + {entry} * k:]
        if e[8] >= 0:
            target = gradient if e[1] == {in_inputs} else adjoints
            for i in range(e[9] + np.int64(values[e[8]]), e[10]):
                target[i] = 0.0
            values[e[8]] = e[10] - e[9]


@inline
def fused_tangents(fused, constants, shapes, kernels, values, dots, inputs):
    """Compute the tangents of a fused loop; here inputs have both their values and their tangents in cells."""
    n, strip, kept = shapes[fused + {units}], shapes[fused + {strip_units}], shapes[fused + {is_kept}]
    low = lowest(lowest(values.ctypes.data, constants.ctypes.data), dots.ctypes.data)
    at = np.int64(values.ctypes.data)
    bound = integers_at(values[shapes[fused + {bound_at}]:].ctypes.data, 1 << 20)
    bind(fused, shapes, bound, low, at, at + 8, np.int64(constants.ctypes.data), low, low)
    dots_at = low + np.int64(dots.ctypes.data) - at
    if kept == 0:
        copy_fixed(fused, shapes, values, constants, values)
    copy_fixed(fused, shapes, dots, constants, dots)
    fill_room(fused, shapes, dots, dots, dots, dots, 1)
    first = 0
    while first < n:
        units = min(strip, n - first)
        if units < strip:
            cut(fused, shapes, bound)
        for k in range(shapes[fused + {moving}]):
            e = shapes[shapes[fused + {moving_at}] + {entry} * k:]
            start, end = max(first, e[12]), min(first + units, e[13])
            if start >= end:
                continue
            place = e[2] + (start - e[12]) * e[3]
            if e[1] == {in_inputs}:
                if e[0] < 0:
                    copy_numbers(inputs, place, values, 1 + place, (end - start) * e[4])
                place += 1
            if e[0] >= 0 and e[7] != 0:
                copy_units(dots, place, e[3], e[4], e[5], end - start, dots, e[0] + (start - first) * e[4])
        if kept == 0:
            load_strip(fused, shapes, first, units, values, inputs, constants, True)
            repeat_members(fused, shapes, bound, kernels, low)
        for k in range(shapes[fused + {members}]):
            e = shapes[shapes[fused + {members_at}] + {entry} * k:]
            if e[5] == 0:
                for i in range(e[8] if e[9] != 0 else units * e[8]):
                    dots[e[6] + first * e[7] + i] = 0.0
                call_kernel(kernels[2, e[0] - {array}], bound[{bases} + {shape} * k:].ctypes.data, low, low, dots_at)
        for k in range(shapes[fused + {sums}]):
            e = shapes[shapes[fused + {sums_at}] + {entry} * k:]
            for i in range(e[2]):
                dots[e[1] + i] += dots[e[0] + i]
        advance(fused, shapes, bound, units)
        first += units
'''
