"""The kinds of statements that random array programs are made of, and the builder that draws them."""

from collections import Counter
from typing import Any

import numpy as np

from tests.random_programs.array_programs import Entry, Inapplicable, Program, Rejected, Shape, Workspace

STATEMENTS = (8, 16)  # at least, at most; the result comes on top

UNARY = (
    "np.sin({})", "np.cos({})", "np.tanh({})", "np.arctan({})", "np.square({})", "-{}", "{} ** 2", "{} ** 3",
    "np.exp(-0.3 * {0} * {0})", "np.log(1.3 + {0} * {0})", "np.sqrt(0.7 + {0} * {0})", "1.0 / (1.5 + {0} * {0})",
    "np.expm1(0.2 * {})", "np.log1p(0.4 + {0} * {0})", "(1.2 + {0} * {0}) ** 1.7", "np.negative({})",
    "0.4 * {0} * {0}", "np.abs({})", "np.cosh(0.3 * {})", "np.arcsinh({})",
)  # fmt: skip
BINARY = (
    "{} + {}", "{} - {}", "{} * {}", "{} * {}", "{0} / (1.5 + {1} * {1})", "np.multiply({}, {})", "np.add({}, {})",
    "np.subtract({}, {})", "np.divide({0}, 1.1 + {1} * {1})", "np.power(1.2 + {0} * {0}, 0.4 * {1})",
    "np.maximum({}, {})", "np.minimum({}, {})", "np.hypot({0}, 0.3 + {1} * {1})", "np.arctan2({0}, 1.2 + {1} * {1})",
    "np.logaddexp({}, {})", "({0} + 0.5) * {1} * {0}",
)  # fmt: skip
AUGMENTED = ("+=", "*=", "-=", "/=")


class Builder(Workspace):
    """Writes random programs."""

    def program(self) -> Program:
        """A random program."""
        r = self.random
        last = f"x{len(self.inputs) - 1}"
        if np.ndim(self.inputs[-1]) and self.chance(0.2):  # an argument beside what is made of it, whose cells follow
            self.define("beside", f"np.concatenate([{last}, {r.choice(UNARY[:4]).format(last)}])")
        for k, x in enumerate(self.inputs):  # something that depends on the input stays when it is overwritten
            if isinstance(x, np.ndarray):
                self.define("elementwise", r.choice(UNARY[:4]).format(f"x{k}"), assignable=self.chance(0.5))
        goal = len(self.statements) + r.randint(*STATEMENTS)
        kinds = list(FREQUENCIES)
        weights = list(FREQUENCIES.values())
        while len(self.statements) < goal:
            (kind,) = r.choices(kinds, weights)
            self.attempt(kind)
        return self.finished()

    def attempt(self, kind: str) -> None:
        """Append a statement of this kind, unless none fits or the one that was tried had to be taken back."""
        state = list(self.statements), list(self.arrays), list(self.scalars), list(self.constants)
        try:
            getattr(self, kind)()
        except Inapplicable:
            pass
        except Rejected as reason:
            self.rejected[str(reason)] += 1
        else:
            return
        taken_back = len(state[0]) < len(self.statements)
        self.statements, self.arrays, self.scalars, self.constants = state
        if taken_back:
            self.restart()

    def finished(self) -> Program:
        """The program whose result depends on every live array and scalar, each in its own way."""
        for entry in self.arrays:
            value = self.scope[entry.name]
            if value.size:
                self.emit("result", f"s = s + np.sum({entry.name} * {self.constant(value.shape)})")
        for k, name in enumerate(self.scalars):
            self.emit("result", f"s = s + {0.3 + 0.1 * k:.1f} * {name}")
        result = "s"
        arrays = [e.name for e in self.arrays if e.assignable and self.scope[e.name].size]
        if arrays and self.random.random() < 0.3:
            r = self.random.choice(arrays)
            forms = [f"s, {r}", f"{r} + s", f"{r} * s, {r}", r]
            (result,) = self.random.choices(forms, [4, 4, 1, 1])
        return Program(self.inputs, tuple(self.statements), result)

    # ---- statements: values ------------------------------------------------------------------------------------------
    def elementwise(self) -> None:
        entry = self.array()
        form = self.random.choice(UNARY)
        if "abs" in form:
            self.separate(entry.name, "0.0")
        self.define("elementwise", form.format(entry.name), entry.assignable)

    def combination(self) -> None:
        """An operation of two operands that are broadcast against each other."""
        r = self.random
        entry = self.array()
        x = entry.name
        shape = self.scope[x].shape
        if self.chance(0.25) and shape:  # broadcast from both sides
            k = r.randrange(len(shape))
            shape = (*shape[:k], 1, *shape[k + 1 :])
        y = x if self.chance(0.12) else self.operand(shape)
        try:
            np.broadcast_shapes(np.shape(self.value(y)), self.scope[x].shape)
        except ValueError:
            raise Inapplicable from None
        x, y = (x, y) if self.chance(0.6) else (y, x)
        form = r.choice(BINARY)
        if "imum" in form:
            self.separate(x, y)
        self.define("combination", form.format(x, y), entry.assignable)

    def view(self) -> None:
        entry = self.array()
        shape = self.scope[entry.name].shape
        self.define("view", f"{entry.name}[{self.index(shape)}]", entry.assignable)

    def movement(self) -> None:
        """A view, or where NumPy must a copy, by a function."""
        r = self.random
        entry = self.array()
        a, name = self.scope[entry.name], entry.name
        forms = [f"{name}.ravel()", f"{name}.reshape(-1)", f"{name}.T", f"np.ravel({name})", f"{name}.copy()"]
        if a.size:
            forms += [f"{name}.reshape{self.factors(a.size)}", f"np.reshape({name}, {self.factors(a.size)})"]
        if a.ndim >= 2:
            forms += [f"np.asarray({name}, order={r.choice('CF')!r})"] * 2
            axes = r.sample(range(a.ndim), a.ndim)
            two = r.sample(range(a.ndim), 2)
            forms += [f"{name}.transpose({axes})", f"np.transpose({name}, {axes})"]
            forms += [f"np.swapaxes({name}, {two[0]}, {two[1]})", f"{name}.swapaxes({two[0]}, {two[1]})"]
            forms += [f"np.diagonal({name})", f"{name}.diagonal({r.choice([0, 1])})"]
        if a.ndim < 3:
            shape = tuple(r.randint(1, 3) if n == 1 else n for n in (*[1] * r.randint(0, 1), *a.shape))
            forms += [f"np.broadcast_to({name}, {shape})"] * 2
        self.define("movement", r.choice(forms), entry.assignable)

    def factors(self, size: int) -> Shape:
        """A shape of that size."""
        shapes = [(size,), (1, size), (size, 1), *((n, size // n) for n in (2, 3, 4) if size % n == 0)]
        shapes += [(2, 2, size // 4)] * (size % 4 == 0) + [(2, 1, size // 2)] * (size % 2 == 0)
        return self.random.choice(shapes)

    def read(self) -> None:
        entry = self.array(empty=0.0)
        self.define("read", f"{entry.name}[{self.element(self.scope[entry.name].shape)}]")

    def arithmetic(self) -> None:
        """Arithmetic on scalars; `+=` makes a new one."""
        if self.scalars and self.chance(0.25):
            x, name = self.random.choice(self.scalars), self.fresh("a")
            self.emit("arithmetic", f"{name} = {x}", f"{name} {self.random.choice(['+=', '*='])} {self.scalar()}")
            self.scalars.append(name)
            return
        forms = ["{} * {}", "{} + 0.5 * {}", "{0} / (1.5 + {1} * {1})", "np.sin({}) * {}", "{} - np.tanh({})"]
        self.define("arithmetic", self.random.choice(forms).format(self.scalar(), self.scalar()))

    def gathering(self) -> None:
        """A copy by a fancy index."""
        entry = self.array()
        shape = self.scope[entry.name].shape
        self.define("gathering", f"{entry.name}[{self.fancy(shape)}]", entry.assignable)

    def masking(self) -> None:
        """A copy by a comparison."""
        entry = self.array()
        text = f"{entry.name} {self.random.choice('<>')} {self.threshold(self.scope[entry.name])}"
        self.define("masking", f"{entry.name}[{text}]", entry.assignable)

    def taking(self) -> None:
        entry = self.array(lambda a: a.ndim > 0 and a.size > 0)
        shape = self.scope[entry.name].shape
        axis = self.axis_of(len(shape))
        positions = [self.position(shape[axis]) for _ in range(self.random.randint(1, 4))]
        self.define("taking", f"np.take({entry.name}, {positions}, axis={axis})", entry.assignable)

    def mixture(self) -> None:
        """An array of scalar variables meets an array."""
        n = self.random.randint(1, 3)
        scalars = f"np.array([{', '.join(self.scalar() for _ in range(n))}], dtype=object)"
        entry = self.array(lambda a: a.ndim > 0 and a.shape[-1] in (1, n))
        x = f"{entry.name}, {scalars}".split(", ", 1)
        self.define("mixture", self.random.choice(["{} * {}", "{1} + {0}", "{} - {}"]).format(*x), entry.assignable)

    def comparison(self) -> str:
        """A comparison of an element with a number, or with another element."""
        x, y = (f"{e.name}[{self.element(self.scope[e.name].shape)}]" for e in (self.array(empty=0.0), self.array()))
        if self.chance(0.7):
            y = f"{round(float(self.value(x)) + self.random.choice((-0.4, 0.3)), 2)}"
        self.separate(x, y)
        x, y = (x, y) if self.chance(0.7) else (y, x)
        return f"({x} {self.random.choice(['<', '>', '<=', '>='])} {y})"

    def condition(self) -> None:
        """Truth values of elements, negated and combined, decide or scale: np.bool_ does not count as Python's do."""
        forms = ["~{}", "{} + {}", "{} & ~{}", "{} | {}", "({} + {}) * {}", "~({} + {})", "{} ^ {}"]
        form = self.random.choice(forms)
        text = form.format(*(self.comparison() for _ in range(form.count("{}"))))
        x, y = self.scalar(), self.scalar()
        self.define("condition", self.random.choice([f"{x} if {text} else 2.0 * {y}", f"{x} * ({text})"]))

    def listed(self) -> None:
        """A ufunc of an element and a list or a tuple, which is an array."""
        r = self.random
        entry = self.array(empty=0.0)
        x = f"{entry.name}[{self.element(self.scope[entry.name].shape)}]"
        numbers = [self.scalar() if self.chance(0.2) else self.floating() for _ in range(r.randint(1, 3))]
        y = f"[{', '.join(numbers)}]" if self.chance(0.7) else f"({', '.join(numbers)},)"
        form = r.choice(["np.maximum({}, {})", "np.minimum({}, {})", "np.add({}, {})", "np.multiply({}, {})",
                         "np.subtract({}, {})", "np.logaddexp({}, {})"])  # fmt: skip
        if "imum" in form:
            self.separate(x, f"np.array({y})")
        if "logaddexp" in form:  # of a constant and a list with variables NumPy asks nobody, and refuses the objects
            x = " + ".join([f"({x}", *(f"0.1 * {z}" for z in numbers)]) + ")"
        text = form.format(x, y) if self.chance(0.6) else form.format(y, x)
        total = f"np.mean({text} * 2)" if self.chance(0.6) else f"np.sum({text})"  # a list repeats itself: not its sum
        self.define("listed", f"0.3 * {total} * {entry.name}", entry.assignable)

    # ---- statements: assignment --------------------------------------------------------------------------------------
    def target(self) -> tuple[str, Shape]:
        """A part of an array to assign to, and its shape."""
        name = self.array(assigned=True).name
        a = self.scope[name]
        chance = self.random.random()
        if chance < 0.25:
            text = f"{name}[{self.element(a.shape)}]"
        elif chance < 0.65 or not a.ndim:
            text = f"{name}[{self.index(a.shape)}]"
        elif chance < 0.75:
            text = f"{name}[{self.random.choice(['...', ':'])}]"
        elif chance < 0.9:
            text = f"{name}[{self.fancy(a.shape)}]"
        else:
            text = f"{name}[{name} {self.random.choice('<>')} {self.threshold(a)}]"
        return text, np.shape(self.value(text))

    def new_value(self, target: str, shape: Shape) -> str:
        """What to assign: not too often a constant, and often a part of the array that is written."""
        chance = self.random.random()
        if shape == ():
            s = self.scalar()
            return s if chance < 0.4 else self.floating() if chance < 0.5 else f"{s} * {self.scalar()}"
        text = self.operand(shape, of=[target.partition("[")[0]])
        return text if chance < 0.5 else f"{text} * {self.scalar()}" if chance < 0.8 else f"0.5 * {text} + 0.2"

    def assignment(self) -> None:
        target, shape = self.target()
        value, kind = self.new_value(target, shape), what(target, shape)
        if kind == "mask":  # of what overlaps with the target NumPy makes no copy there
            value = f"1.0 * {value}"
        self.emit(f"assignment to {kind}", f"{target} = {value}")

    def augmented(self) -> None:
        """+= and the like, on an array, a view or a part."""
        r = self.random
        if self.chance(0.45):
            target = self.array(assigned=True).name
            shape = self.scope[target].shape
        else:
            target, shape = self.target()
        value = self.new_value(target, shape)
        operator = r.choice(AUGMENTED)
        if operator == "/=":
            value = f"1.5 + ({value}) ** 2"
        self.emit(f"augmented {operator}", f"{target} {operator} {value}")

    def overlap(self) -> None:
        """A part of an array is assigned to another part that may overlap with it."""
        name = self.array(lambda a: a.ndim > 0 and max(a.shape) > 1, assigned=True).name
        a = self.scope[name]
        for _ in range(20):
            x, y = (f"{name}[{self.index(a.shape, new=0.0)}]" for _ in range(2))
            u, v = self.value(x), self.value(y)
            if x != y and isinstance(u, np.ndarray) and u.shape == np.shape(v) and np.shares_memory(u, v):
                break
        else:
            raise Inapplicable
        form = self.random.choice(["{} = {}", "{} = {} * 1.3", "{} += {}", "{} *= {}", "{0} = {1} * {0}", "{} -= {}"])
        self.emit("overlap", form.format(x, y))

    def absorbed(self) -> None:
        """A function writes a part of an array into the array itself: what it reads, it may have written before."""
        r = self.random
        name = self.array(lambda a: a.ndim > 0 and a.size > 1, assigned=True).name
        a = self.scope[name]
        source = r.choice([name, f"{name}[::-1]", f"{name}.T", f"{name}.ravel()", f"{name}[{self.index(a.shape)}]"])
        source += r.choice(["", "", "", " * 0.9"])
        target = r.choice([name, name, f"{name}.T", f"{name}[::-1]"])
        places = r.sample(range(a.size), r.randint(1, a.size))
        mask = (np.reshape([k in places for k in range(a.size)], self.value(target).shape)).tolist()
        first = [r.randrange(a.shape[0]) for _ in range(a.shape[0])]
        shift = r.choice(["1:", ":-1", "::2", ":"])
        forms = [f"np.put({target}, {places}, {source})", f"np.place({target}, {mask}, {source})",
                 f"np.putmask({target}, {mask}, {source})",
                 f"{target}.flat[{shift}] = {source}", f"{name}.flat[{places}] = {source}",
                 f"np.copyto({target}, {source})", f"np.copyto({name}, {source}, where={mask})"]  # fmt: skip
        forms += [f"np.{f}.at({name}, {first}, {source})" for f in ("add", "add", "subtract", "multiply")]
        if a.ndim == 2:
            forms += [f"np.fill_diagonal({target}, {source})"] * 2
        self.emit("absorbed", r.choice(forms))

    def swap(self) -> None:
        """Elements, rows or columns change places, in all the ways people write it; with rows, NumPy has its own."""
        r = self.random
        name = self.array(lambda a: a.ndim > 0 and a.size > 1, assigned=True).name
        shape = self.scope[name].shape
        i, j = f"{name}[{self.element(shape)}]", f"{name}[{self.element(shape)}]"
        forms = [(f"t = {i}", f"{i} = {j}", f"{j} = t"), (f"{i}, {j} = {j}, {i}",)]
        if shape[0] > 1:
            m, n = r.sample(range(shape[0]), 2)
            forms += [(f"{name}[[{m}, {n}]] = {name}[[{n}, {m}]]",)]
            forms += [(f"{name}[{m}], {name}[{n}] = {name}[{n}], {name}[{m}]",)] * (len(shape) > 1)
            forms += [(f"t = {name}[{m}].copy()", f"{name}[{m}] = {name}[{n}]", f"{name}[{n}] = t")] * (len(shape) > 1)
        self.emit("swap", *r.choice(forms))

    def overwritten(self) -> None:
        """An old element is used after two others took its place."""
        entry = self.array(assigned=True)
        i = f"{entry.name}[{self.element(self.scope[entry.name].shape)}]"
        t = self.fresh("t")
        second = self.random.choice([f"{i} * 0.5 + {self.scalar()}", self.floating(), f"np.sin({i})"])
        self.emit("overwritten", f"{t} = {i}", f"{i} = {t} * {self.scalar()}", f"{i} = {second}", f"s = s + {t} * {i}")
        self.scalars.append(t)

    def captured(self) -> None:
        """A slice, a copy or a function of an array, taken before an assignment and used after it."""
        r = self.random
        name = self.array(lambda a: a.ndim > 0, assigned=True).name
        shape = self.scope[name].shape
        form = r.choice(
            [f"{name}[{self.index(shape, integers=0.15)}]", f"{name}.copy()", f"{name} * {name}", f"{name}.T"]
        )
        if not np.ndim(self.value(form)):
            raise Inapplicable
        before, after = self.fresh("a"), self.fresh("a")
        target = f"{name}[{self.index(shape)}]"
        value = self.new_value(target, np.shape(self.value(target)))
        if self.chance(0.4):  # used before, too
            lines = (
                f"{after} = np.sum({before} * {name}.ravel()[0])",
                f"{target} = {value}",
                f"{after} += np.sum({before} * 0.7)",
            )
        else:
            lines = (f"{target} = {value}", f"{after} = np.sin({before}) * {name}.ravel()[-1]")
        self.emit("captured", f"{before} = {form}", *lines)
        for x in (before, after):
            (self.arrays.append(Entry(x)) if isinstance(self.scope[x], np.ndarray) else self.scalars.append(x))

    def flattened(self) -> None:
        """Whether a reshaped array is a view depends on its layout in memory: that of a result, or of a copy."""
        r = self.random
        entry = self.array(lambda a: a.ndim > 1 and min(a.shape) > 1, empty=0.0)
        a, x = self.scope[entry.name], entry.name
        columns = [self.position(a.shape[1]) for _ in range(r.randint(2, 3))]
        makers = [
            "{0}[:, {1}]", "{0}[:, {1}]", "np.sin({0}.T)", "{0}.T * {0}.T", "0.5 * {0}.T", "np.take({0}, {1}, axis=1)",
            "{0}.T.copy()", "np.copy({0}.T)", "{0}.swapaxes(0, 1) + {0}.swapaxes(0, 1)", "{0}[::-1] * 1.3",
            "np.cumsum({0}.T, axis=0)", "{0}[..., ::-1]", "np.flip({0}, axis=0)", "np.zeros_like({0}.T)", "+{0}.T",
            "np.positive({0}[..., ::-1])", "np.sort({0}.T, axis=0)", "np.sort({0}, axis=0)",
            "np.select([{0}.T > -90.0], [{0}.T])", "np.clip({0}.T, None, None)", "np.nan_to_num({0}.swapaxes(0, -1))",
            "np.median(np.stack([{0}.T, {0}.T - 1.3, {0}.T + 1.7]), axis=0)", "np.einsum('ij...->ji...', {0})",
        ]  # fmt: skip
        first, second = self.fresh("a"), self.fresh("a")
        maker = r.choice(makers)
        if "sort" in maker:
            self.separate_along(a.T if ".T" in maker else a, 0)
        made = maker.format(x, columns)
        flat = r.choice(["{}.reshape(-1)", "{}.ravel()", "{}.T.reshape(-1)", "{}.T.ravel()", "np.ravel({}.T)"])
        size = np.size(self.value(made))
        i, written = self.position(size), r.choice([first, second])
        target = f"{second}[{i}]" if written is second else f"{first}[{self.element(np.shape(self.value(made)))}]"
        lines = (f"{first} = {made}", f"{second} = {flat.format(first)}", f"{target} = {self.scalar()} * 0.7")
        self.emit("flattened", *lines)
        self.arrays += [Entry(first), Entry(second)]

    def weights(self) -> None:
        """A buffer of constants is written anew between two uses."""
        r = self.random
        entry = self.array(lambda a: a.ndim in (1, 2), empty=0.0)
        x, n = entry.name, self.scope[entry.name].shape[-1]
        w, i = self.buffer((n,)), self.fresh("i")
        used = r.choice([f"np.dot({x}, {w})", f"{x} @ {w}", f"np.sum({w} * {x}, axis=-1)", f"({x} * {w}).sum(axis=-1)"])
        if self.scope[x].ndim == 2:
            used = f"np.sin({used})[{self.position(self.scope[x].shape[0])}]"
        fill = r.choice([f"{w}[:] = 0.0", f"{w} *= 0.5"])
        self.emit(
            "weights",
            f"for {i} in range({n}):",
            f"    {fill}",
            f"    {w}[{i}] = {i} + 1.0",
            f"    s = s + 0.3 * {used}",
        )

    def filled(self) -> None:
        """A buffer of variables, filled in a loop."""
        r = self.random
        entry = self.array(lambda a: a.ndim > 0, empty=0.0)
        x, shape = entry.name, self.scope[entry.name].shape
        z, i = self.fresh("a"), self.fresh("i")
        make = r.choice(
            ["np.zeros_like({})", "np.zeros_like({})", "np.ones_like({})", "np.full_like({}, 0.7)", "{}.copy()"]
        )
        bodies = [f"{z}[{i}] = {z}[{i} - 1] * 0.6 + {x}[{i}]", f"{z}[{i}] += {x}[{i}] * {x}[{i} - 1]",
                  f"{z}[-{i}] = {x}[{i}] * {self.scalar()}", f"{z}[{i}] = {i} + 0.5"]  # fmt: skip
        if shape[0] > 1:
            bodies += [f"{z}[:{i}] += {x}[1:{i} + 1]", f"{z}[{i}:] = {z}[{i}:] * {x}[{i}]"]
        body = r.choice(bodies)
        self.emit("filled", f"{z} = {make.format(x)}", f"for {i} in range({shape[0]}):", f"    {body}")
        self.arrays.append(Entry(z))

    def written(self) -> None:
        """A ufunc writes its result into an array, or adds at repeated positions; `fill`."""
        r = self.random
        name = self.array(lambda a: a.ndim > 0, assigned=True).name
        shape = self.scope[name].shape
        same = [e.name for e in self.arrays if self.scope[e.name].shape == shape]
        x, y, function = r.choice(same), self.operand(shape), r.choice(["np.add", "np.multiply", "np.subtract"])
        forms = [f"{function}({x}, {y}, out={name})", f"{function}({y}, {x}, out={name})", f"np.sin({x}, out={name})"]
        forms += [f"np.add.at({name}, np.s_[{self.fancy(shape)}], {self.scalar()})"] * 2
        forms.append(f"{name}.fill({self.scalar()})")
        self.emit("written", r.choice(forms))

    def iteration(self) -> None:
        """A loop over elements or rows, which are views; the number of rows; unpacking."""
        r = self.random
        entry = self.array(lambda a: a.ndim > 0, empty=0.0)
        x = entry.name
        v, n, one = self.fresh("v"), len(self.scope[x]), self.scope[x].ndim == 1
        if one:
            bodies = [f"s = s + 0.1 * {v} * {v}", f"s = 0.7 * s + {v}"]
        else:
            bodies = [f"s = s + 0.1 * np.sum({v} * {v})", f"s = s + 0.2 * np.sum(np.sin({v})) * len({x})"]
            if entry.assignable and self.scope[x].flags.writeable:
                bodies += [f"{v} *= 0.9", f"{v}[...] = {v} * {v}"]
        if n == 2 and self.chance(0.3):
            u = self.fresh("v")
            self.emit(
                "iteration", f"{u}, {v} = {x}", f"s = s + {u} * {v}" if one else f"s = s + 0.3 * np.sum({u} * {v})"
            )
        else:
            self.emit("iteration", f"for {v} in {x}:", f"    {r.choice(bodies)}")

    def overridden(self) -> None:
        """A constant is written over a variable, read back, and combined with what stands beside it."""
        entry = self.array(assigned=True)
        name, shape = entry.name, self.scope[entry.name].shape
        i, j = f"{name}[{self.element(shape)}]", f"{name}[{self.element(shape)}]"
        use = self.random.choice([f"s = s + {i} * {j}", f"s = s + np.sin({i}) + {j}", f"{j} = {i} * {j}"])
        self.emit("overridden", f"s = s + 0.1 * np.sum({name} * {name})", f"{i} = {self.floating()}", use)

    # ---- statements: functions ---------------------------------------------------------------------------------------
    def reduction(self) -> None:
        r = self.random
        entry = self.array(empty=0.05)
        a, x = self.scope[entry.name], entry.name
        name = r.choice(["sum", "sum", "mean", "prod", "cumsum", "max", "min", "var"])
        if not a.size and name not in ("sum", "prod"):
            raise Inapplicable
        options = []
        axis: Any = None
        if a.ndim and self.chance(0.7):
            axis = self.axis_of(a.ndim)
            if a.ndim > 1 and name != "cumsum" and self.chance(0.2):
                axis = tuple(r.sample(range(a.ndim), 2))
            options.append(f"axis={axis}")
        if name != "cumsum" and self.chance(0.3):
            options.append("keepdims=True")
        if name in ("max", "min"):
            self.separate_along(a, axis)
        method = name != "var" and self.chance(0.5)
        self.define(name, f"{x}.{name}({', '.join(options)})" if method else f"np.{name}({', '.join([x, *options])})")

    def rearrangement(self) -> None:
        r = self.random
        entry = self.array(lambda a: a.ndim > 0, empty=0.05)
        a, x = self.scope[entry.name], entry.name
        axis = self.axis_of(a.ndim)
        name = r.choice(["concatenate", "stack", "roll", "flip", "tile", "repeat", "where", "diag", "tril"])
        if name == "concatenate":
            shape = tuple(r.randint(1, 2) if k == axis % a.ndim else n for k, n in enumerate(a.shape))
            y = self.random.choice([x, self.constant(shape), f"{x}[{'::-1' if a.ndim < 2 else ':'}] * 0.5"])
            text = f"np.concatenate([{x}, {y}{r.choice(['', ', ' + x])}], axis={axis})"
        elif name == "stack":
            text = f"np.stack([{x}, {r.choice([self.constant(a.shape), x + ' * 0.3'])}, {x}], axis={axis})"
        elif name == "roll":
            text = f"np.roll({x}, {r.choice([1, -1, 2])}{r.choice(['', f', axis={axis}'])})"
        elif name == "flip":
            text = f"np.flip({x}{r.choice(['', f', axis={axis}'])})"
        elif name == "tile":
            text = f"np.tile({x}, {r.choice(['2', '(2, 1)', '(1, 2)'])})"
        elif name == "repeat":
            counts = [r.randint(0, 2) for _ in range(a.shape[axis])]
            text = f"np.repeat({x}, {r.choice(['2', '3', f'2, axis={axis}', f'{counts}, axis={axis}'])})"
        elif name == "where":
            first, second = (self.operand(a.shape) for _ in range(2))
            first, second = r.choice([(x, second), (first, x)])
            text = f"np.where({x} {r.choice('<>')} {self.threshold(a)}, {first}, {second})"
        else:
            if a.ndim > 2 or (name == "tril" and a.ndim < 2):
                raise Inapplicable
            text = f"np.{name}({x}{r.choice(['', ', 1', ', -1'])})"
        if np.size(self.value(text)) > 48:
            raise Inapplicable
        self.define(name, text)

    def product(self) -> None:
        r = self.random
        entry = self.array(lambda a: a.ndim in (1, 2), empty=0.05)
        a, x = self.scope[entry.name], entry.name
        name = r.choice(["dot", "dot", "matmul", "matmul", "outer", "einsum", "einsum"])
        if name == "outer":
            y = r.choice([x, self.array(lambda b: 0 < b.size < 6).name])
            text = f"np.outer({x}, {y})"
        else:
            wanted = r.choice([(a.shape[-1],), (a.shape[-1], r.randint(1, 3))])
            found = [
                e.name for e in self.arrays if (b := self.scope[e.name]).ndim in (1, 2) and b.shape[0] == a.shape[-1]
            ]
            y = r.choice(found + [f"{x}.T"] * 2) if self.chance(0.75) else self.constant(wanted)
            if self.chance(0.25) and a.ndim == 2:  # a constant on the left
                k = f"{self.constant((r.randint(1, 3), a.shape[0]))}"
                x, y = k, x
            first, second = self.value(x).ndim, self.value(y).ndim
            if name == "dot":
                # not the method of a plain array, which asks its argument for an array of floats
                text = f"{x}.dot({y})" if x == entry.name and self.chance(0.5) else f"np.dot({x}, {y})"
            elif name == "matmul":
                text = r.choice([f"np.matmul({x}, {y})", f"{x} @ {y}"])
            elif self.chance(0.25) and a.ndim == 2:
                text = f"np.einsum('{r.choice(['ij->j', 'ij->ji', 'ij->'])}', {entry.name})"
            else:
                left, right = "ij"[2 - first :], "jk"[:second]
                result = r.choice([left[:-1] + right[1:], right[1:] + left[:-1], left + right[1:]])
                text = f"np.einsum('{left},{right}->{result}', {x}, {y})"
        if np.size(self.value(text)) > 48:
            raise Inapplicable
        self.define(name, text)


def what(target: str, shape: Shape) -> str:
    """How an assignment's target is chosen."""
    index = target.partition("[")[2].removesuffix("]")
    if "<" in index or ">" in index or "True" in index:
        return "mask"
    if "[" in index:
        return "fancy index"
    if index in ("...", ":"):
        return "whole"
    return "slice" if shape or ":" in index or "." in index else "element"


FREQUENCIES = {
    "elementwise": 4, "combination": 8, "view": 7, "movement": 6, "read": 2, "arithmetic": 2, "gathering": 3,
    "masking": 2, "taking": 1, "mixture": 1, "condition": 2, "listed": 2,
    "assignment": 9, "augmented": 8, "overlap": 3, "absorbed": 3, "swap": 2, "overwritten": 2,
    "captured": 3, "flattened": 3, "weights": 2, "filled": 2, "written": 3, "iteration": 2, "overridden": 2,
    "reduction": 6, "rearrangement": 8, "product": 5,
}  # fmt: skip


def generate(seed: int | str, layouts: bool = True) -> tuple[Program, Counter[str]]:
    """The random program of a seed, and the statements that were taken back on the way, by reason.

    Results of NumPy's functions on transposed arrays are in Fortran order, so that another reshape is a view. Without
    `layouts` there are no such results.
    """
    builder = Builder(seed, layouts)
    return builder.program(), builder.rejected
