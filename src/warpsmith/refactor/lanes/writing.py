"""Writes a function whose threads do what warps did: lanes are loops, and what differs between them are arrays or said again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.lanes.collecting import Inner, collected_in
from warpsmith.refactor.lanes.common import LANES
from warpsmith.refactor.lanes.differing import Block, Lanes, Variable
from warpsmith.refactor.lanes.exchanges import Shuffle, Step, called, shuffle_of, vote_of
from warpsmith.refactor.lanes.plan import Each, Given, Item, Nested, Once, Reduced, Shared
from warpsmith.refactor.preconditions import Unmet, present
from warpsmith.refactor.writing import FreeNames, operand
from warpsmith.source import Loop, loops_of
from warpsmith.source.dataflow import declarators
from warpsmith.source.tree import field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_FIXING = {"const", "constexpr", "static"}
_ZERO = re.compile(r"\{\s*(?:0(?:\.0*)?[fFuU]?)?\s*\}")
_UNIT = "  "


@dataclass(frozen=True, slots=True)
class Helper:
    """A function that exchanges values, as one thread does it: `differing` are its parameters that become arrays."""

    name: str
    differing: frozenset[int]
    types: tuple[str, ...]
    is_void: bool


class Writer:
    def __init__(self, lanes: Lanes, plan: Sequence[Item], free: FreeNames, helpers: Mapping[str, Helper]) -> None:
        self._lanes, self._plan, self._free, self._helpers = lanes, plan, free, helpers
        self._tree = lanes.names.source.tree
        self._lane = free.take("lane_of_warp")
        self._given: dict[int, str] = {}  # what stands for an exchange
        self._leaves = False
        self._present, self._first = str(LANES), ""  # how many lanes there are, and what each begins with
        self._places: dict[Variable, str] = {}  # of what collects, where the lane does not matter
        self._loops = {loop.node.start_byte: loop for loop in loops_of(lanes.body, lanes.names)}
        self._arrays = frozenset(self._found_arrays(plan))

    def body(self, before: Iterable[str] = ()) -> str:
        indent = self._tree.indentation(self._lanes.body.parent or self._lanes.body)
        lines = [*before, *self._items(self._plan)]
        return "{\n" + "\n".join(line if line.startswith("#") else f"{indent}{_UNIT}{line}" for line in lines) + f"\n{indent}}}"

    def taken(self, name: str, kind: str, given: str) -> list[str]:
        """A parameter with a value for each lane, as an array of the function's own."""
        lane = self._lane
        return [f"{kind} {name}[{LANES}];", f"for (int {lane} = 0; {lane} < {LANES}; ++{lane}) {name}[{lane}] = {given}[{lane}];"]

    # What is an array.

    def _found_arrays(self, items: Iterable[Item]) -> Iterator[Variable]:
        lanes = self._lanes
        yield from lanes.given
        for item in _all(items):
            if isinstance(item, Reduced):  # a lane may give what is the same for all another value later
                afterwards = [self._after(step) for step in item.steps]
                yield from (v for v in afterwards if v is not None and lanes.varies(v) and self._begins(v, item.steps))
            if not isinstance(item, Each):
                continue
            spans = [(p.node.start_byte, p.node.end_byte) for p in item.parts]
            for part in item.parts:
                begun = [next(of_kind(d, "identifier")) for d in part.only or declarators(part.node)]
                for name in (*begun, *self._begun(part.node)):
                    variable = present(lanes.variable(name), f"{text_of(name)} is not a variable of a lane", name)
                    if lanes.is_recomputed(variable):
                        continue
                    if any(not any(a <= use.start_byte < b for a, b in spans) for use in self._uses(variable)):
                        yield variable

    def _uses(self, variable: Variable) -> Iterator[Node]:
        """Those of a declared variable with those of what it is called after a reduction, which begins with it."""
        if variable.version:
            yield from self._lanes.uses[variable]
        for known, uses in self._lanes.uses.items() if not variable.version else ():
            if (known.name, known.start) == (variable.name, variable.start):
                yield from uses

    def _begun(self, statement: Node) -> list[Node]:
        """The variable that a statement gives a value of a new name to."""
        node = statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else statement
        target = field(node, "left") if node.type == "assignment_expression" else None
        variable = self._lanes.variable(target) if target is not None and target.type == "identifier" else None
        if target is None or variable is None or not variable.version:
            return []
        return [target] if min(u.start_byte for u in self._lanes.uses[variable]) == target.start_byte else []

    # Statements.

    def _items(self, items: Iterable[Item]) -> Iterator[str]:
        for item in items:
            yield from self._item(item)

    def _item(self, item: Item) -> Iterator[str]:
        match item:
            case Once(node, only):
                yield from self._leading(node, pragmas=True)
                if only:
                    yield from (f"{self._specifier(node)} {self._said(d, None)};" for d in only)
                else:
                    kinds = [self._type(target) for target in self._begun(node)]
                    first, *others = self._block_of(node, None)
                    yield from (" ".join([*kinds, first]), *others)
            case Given(node, exchanges):
                yield from self._leading(node)
                yield from self._for_all(node, exchanges)
            case Each():
                yield from self._each(item)
            case Reduced(steps):
                yield from self._reduced(steps)
            case Shared():
                yield from self._shared(item)
            case Nested():
                yield from self._nested(item)

    def _each(self, item: Each) -> Iterator[str]:
        yield from self._declared_arrays(item)
        if all(part.node.type == "declaration" and not self._assigned(part) for part in item.parts):
            return
        yield from self._exchanged(item.exchanges, item.parts[0].node)
        self._leaves = item.leaves
        inside = [line for part in item.parts for line in self._own(part)]
        self._leaves = False
        yield from self._loop(_with(self._recomputed([part.node for part in item.parts]), inside))

    def _loop(self, inside: Sequence[str]) -> Iterator[str]:
        lane = self._lane
        yield f"for (int {lane} = 0; {lane} < {self._present}; ++{lane}) {{"
        yield from _indented(_with([self._first], inside) if self._first else inside)
        yield "}"

    def _own(self, part: Once) -> Iterator[str]:
        """What one lane does."""
        yield from self._leading(part.node, pragmas=True)
        if part.node.type != "declaration":
            lines = self._block_of(part.node, self._lane)
            for target in self._begun(part.node):
                if self._lanes.variable(target) not in self._arrays:
                    lines[0] = f"{self._type(target)} {lines[0]}"
            yield from lines
            return
        for declarator in part.only or declarators(part.node):
            variable = self._declared(declarator)
            if variable is not None and self._is_said_again(variable):
                continue
            if variable in self._arrays and variable is not None:
                value = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
                if value is not None and not any(True for _ in of_kind(declarator, "array_declarator")):
                    if value.type == "argument_list":
                        raise Unmet(f"{variable.name} is initialised by a constructor call", declarator)
                    yield f"{variable.name}[{self._lane}] = {self._said(value, self._lane)};"
            else:
                yield f"{self._specifier(part.node)} {self._said(declarator, self._lane)};"

    def _assigned(self, part: Once) -> bool:
        """Whether there is anything to do for a declaration."""
        for declarator in part.only or declarators(part.node):
            variable = self._declared(declarator)
            if variable is not None and self._is_said_again(variable):
                continue
            is_array = any(True for _ in of_kind(declarator, "array_declarator"))
            if variable not in self._arrays or (declarator.type == "init_declarator" and not is_array):
                return True
        return False

    def _declared_arrays(self, item: Each) -> Iterator[str]:
        for part in item.parts:
            for target in self._begun(part.node):
                begun = self._lanes.variable(target)
                if begun in self._arrays and begun is not None:
                    yield f"{self._type(target)} {begun.spelled}[{LANES}];"
            for declarator in part.only or declarators(part.node):
                variable = self._declared(declarator)
                if variable not in self._arrays or variable is None:
                    continue
                named = field(declarator, "declarator") if declarator.type == "init_declarator" else declarator
                if named.type == "reference_declarator" or "auto" in self._specifier(part.node).split():
                    raise Unmet(f"{variable.name} is a reference, or its type is deduced", declarator)
                pointer = named.type == "pointer_declarator"
                kind = self._specifier(part.node, fixed=pointer)
                text = (
                    re.sub(r"\b(?:const|__restrict__|__restrict)\b", "", self._tree.text_of(named))
                    if pointer
                    else self._tree.text_of(named)
                )
                text = re.sub(rf"\b{re.escape(variable.name)}\b", f"{variable.name}[{LANES}]", text, count=1)
                value = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
                zero = ""
                if value is not None and any(True for _ in of_kind(named, "array_declarator")):
                    if not _ZERO.fullmatch(text_of(value)):
                        raise Unmet(f"{variable.name} is an array with an initialiser", declarator)
                    zero = " = {}"
                yield f"{kind} {text}{zero};"

    def _reduced(self, steps: Sequence[Step]) -> Iterator[str]:
        lane, offset = self._lane, self._free.take("distance")
        inside = []
        for step in steps:
            variable = self._lanes.variable(step.target)
            value = unwrapped(step.shuffle.value)
            own = present(self._lanes.variable(value), f"{text_of(value)} is not a variable", value)
            if own not in self._arrays or variable is None:
                raise Unmet(f"{own.name} is reduced although it is warp-uniform", step.target)
            statement = step.statement.named_children[0] if step.statement.type == "expression_statement" else step.statement
            self._given[step.shuffle.call.start_byte] = f"{own.spelled}[{lane} + {offset}]"
            right = self._said(field(statement, "right"), lane)
            inside.append(f"{own.spelled}[{lane}] {text_of(field(statement, 'operator'))} {right};")
        yield f"for (int {offset} = {LANES // 2}; {offset} > 0; {offset} /= 2)"
        yield f"{_UNIT}for (int {lane} = 0; {lane} < {offset}; ++{lane}) {{"
        yield from (_UNIT * 2 + line for line in inside)
        yield f"{_UNIT}}}"
        for step in steps:
            own = present(self._lanes.variable(unwrapped(step.shuffle.value)), "a variable", step.target)
            after = self._after(step)
            if after is None or not self._begins(after, steps):
                yield from self._loop([f"{own.spelled}[{lane}] = {own.spelled}[0];"])
            elif after in self._arrays:
                yield f"{self._type(step.target)} {after.spelled}[{LANES}];"
                yield from self._loop([f"{after.spelled}[{lane}] = {own.spelled}[0];"])
            else:
                yield f"{self._type(step.target)} {after.spelled} = {own.spelled}[0];"

    def _after(self, step: Step) -> Variable | None:
        """What the reduced variable is called from there on."""
        own = present(self._lanes.variable(unwrapped(step.shuffle.value)), "a variable", step.target)
        later = (own.name, own.start, own.version + 1)
        return next((v for v in self._lanes.uses if (v.name, v.start, v.version) == later), None)

    def _begins(self, after: Variable, steps: Sequence[Step]) -> bool:
        """Whether the version begins with this reduction."""
        first = min(use.start_byte for use in self._lanes.uses[after])
        return first >= steps[-1].statement.end_byte

    def _shared(self, item: Shared) -> Iterator[str]:
        loop, lane = item.loop, self._lane
        kind = " ".join(w for w in loop.type.split() if w not in _FIXING)
        bound, step = self._said(loop.bound, None), present(loop.step, "steps")
        sign = "<" if loop.ends_below else "<="
        yield from self._leading(loop.node)
        if self._is_plain(item, step):
            name = loop.variable
            yield f"for ({kind} {name} = {self._said(loop.start, None)}; {name} {sign} {bound}; ++{name}) {{"
            yield from _indented(self._inside(loop))
            yield "}"
            return
        if self._is_in_order(item, step) and (collected := collected_in(loop, self._lanes, self._arrays, self._loops)):
            yield from self._collected(item, kind, collected)
            return
        first, here = self._free.take(f"first_{loop.variable}"), self._free.take("lanes_here")
        begin, width = self._said(loop.start, None), self._said(step, None)
        yield f"for ({kind} {first} = {begin}; {first} {sign} {bound}; {first} += {width}) {{"
        left = f"{operand(bound)} - {first}" if loop.ends_below else f"{operand(bound)} - {first} + 1"
        count = left if item.apart == 1 else f"({left} + {item.apart - 1}) / {item.apart}"
        yield f"{_UNIT}const int {here} = {count} < {LANES} ? static_cast<int>({count}) : {LANES};"
        by = lane if item.apart == 1 else f"{lane} * {item.apart}"
        begins = f"const {kind} {loop.variable} = {first} + {by};"
        if item.inside:
            yield from _indented(self._together(item.inside, begins, here))
        else:
            yield f"{_UNIT}for (int {lane} = 0; {lane} < {here}; ++{lane}) {{"
            yield from _indented([begins, *_with(self._recomputed([loop.body]), self._inside(loop))], _UNIT * 2)
            yield f"{_UNIT}}}"
        yield "}"

    def _together(self, items: Sequence[Item], begins: str, here: str) -> Iterator[str]:
        """A step of each lane, part by part. Twice, since compilers make the best vectors of a number that they know."""
        for head, lanes in ((f"if ({here} == {LANES}) {{", str(LANES)), ("} else {", here)):
            yield head
            self._present, self._first = lanes, begins
            yield from _indented(list(self._items(items)))
            self._present, self._first = str(LANES), ""
        yield "}"

    def _collected(self, item: Shared, kind: str, collected: Mapping[Variable, Inner]) -> Iterator[str]:
        """A loop in which lanes only collect: so many steps at once that they fill the lanes, then single ones."""
        loop, inner = item.loop, next(iter(collected.values()))
        steps = str(LANES // int(inner.trips)) if inner.is_even else f"({inner.trips} < {LANES} ? {LANES} / {inner.trips} : 1)"
        first, step = self._free.take(f"first_{loop.variable}"), self._free.take("step_of_few")
        sign, bound = "<" if loop.ends_below else "<=", self._said(loop.bound, None)
        # In the lanes in any case; said, since the CPU's compiler crashes on some such loops in which it is not.
        place = f"({step} * {inner.trips} + {inner.variable}) % {LANES}" if inner.variable else step
        self._places = dict.fromkeys(collected, place)
        inside = _with(self._recomputed([loop.body]), self._inside(loop))
        self._places = {}
        body = [f"const {kind} {loop.variable} = {first} + {step};", *inside]
        yield f"{kind} {first} = {self._said(loop.start, None)};"
        yield f"for (; {first} + {steps} - 1 {sign} {bound}; {first} += {steps})"
        yield f"{_UNIT}for (int {step} = 0; {step} < {steps}; ++{step}) {{"
        yield from (line if line.startswith("#") else _UNIT * 2 + line for line in body)
        yield f"{_UNIT}}}"
        # Fewer than that many are left: a place of its own for each.
        yield f"for (int {step} = 0; {first} + {step} {sign} {bound}; ++{step}) {{"
        yield from (line if line.startswith("#") else _UNIT + line for line in body)
        yield "}"

    def _inside(self, loop: Loop) -> list[str]:
        lines: list[str] = []
        for statement in loop.body.named_children if loop.body.type == "compound_statement" else [loop.body]:
            if statement.type not in {"comment", "preproc_call"}:
                lines += [*self._leading(statement, pragmas=True), *self._block_of(statement, self._lane)]
        return lines

    def _is_plain(self, item: Shared, step: Node) -> bool:
        """Whether a warp's lanes leave nothing behind: then it does not matter which of them does a step."""
        used = map(self._lanes.variable, of_kind(item.loop.body, "identifier"))
        return self._is_in_order(item, step) and not any(variable in self._arrays for variable in used)

    def _is_in_order(self, item: Shared, step: Node) -> bool:
        """Whether a warp's lanes do all steps, one after the other, and no step tells which lane does it."""
        loop, lanes = item.loop, self._lanes
        own = lanes.is_row(step) if lanes.block is not Block.WARPS else lanes.names.value(step) == LANES
        if item.apart != 1 or not own:
            return False
        for node in of_kind(loop.body, "identifier", "field_expression"):
            if lanes.names.builtin(node) == "threadIdx.x":
                return False
            variable = lanes.variable(node) if node.type == "identifier" else None
            again = variable is not None and lanes.differs(node) and lanes.is_recomputed(variable)
            outside = again and not is_within(present(lanes.declared(node), "declared", node).node, loop.body)
            if outside and variable is not None and variable.name != loop.variable:
                return False
        return True

    def _nested(self, item: Nested) -> Iterator[str]:
        node = item.node
        yield from self._leading(node)
        if item.exchanges:
            yield from self._exchanged(item.exchanges, node)
        body = node.child_by_field_name("consequence") or node.child_by_field_name("body")
        head = "" if body is None else "".join(self._pieces(node, body.start_byte, None)).strip() + " "
        yield from f"{head}{{".split("\n")
        yield from _indented(self._items(item.inside))
        if item.otherwise:
            yield "} else {"
            yield from _indented(self._items(item.otherwise))
        yield "}"

    def _for_all(self, node: Node, exchanges: Sequence[Node]) -> Iterator[str]:
        yield from self._exchanged(exchanges, node)
        if node.type == "expression_statement" and any(
            (helper := self._helper(c)) is not None and helper.is_void and c == node.named_children[0] for c in exchanges
        ):
            return
        for target in self._begun(node):
            yield f"{self._type(target)} {self._said(node, None)}"
            return
        yield from self._block_of(node, None)

    def _is_said_again(self, variable: Variable) -> bool:
        """Whether lanes declare it where they use it; what is the same in all of them is declared where it stands."""
        return self._lanes.varies(variable) and self._lanes.is_recomputed(variable)

    # Exchanges.

    def _exchanged(self, exchanges: Sequence[Node], statement: Node) -> Iterator[str]:
        for call in exchanges:
            if (shuffle := shuffle_of(call)) is not None:
                yield from self._shuffled(shuffle, statement)
            elif (vote := vote_of(call)) is not None:
                name = self._free.take("votes")
                yield f"unsigned int {name} = 0;"
                asked = f"if ({self._said(vote.condition, self._lane)}) {name} |= 1u << {self._lane};"
                yield from self._loop([*self._recomputed([vote.condition]), asked])
                self._given[call.start_byte] = {"ballot": name, "any": f"({name} != 0)", "all": f"({name} == 0xffffffffu)"}[
                    vote.what
                ]
            else:
                yield from self._called(call)

    def _shuffled(self, shuffle: Shuffle, statement: Node) -> Iterator[str]:
        value, lane, lanes = unwrapped(shuffle.value), self._lane, self._lanes
        if not lanes.differs(value):
            self._given[shuffle.call.start_byte] = f"({self._said(value, None)})"
            return
        width = LANES if shuffle.width is None else lanes.names.value(shuffle.width)
        if shuffle.way == "xor":
            width = LANES  # lanes of a group stay in it by the number itself
        if width is None or width > LANES:
            raise Unmet("lanes exchange values in groups of unknown size", shuffle.call)
        common = shuffle.way == "" and not lanes.differs(shuffle.by) and width == LANES
        by = self._said(shuffle.by, None if common else lane)
        by = by if re.fullmatch(r"\w+", by) else f"static_cast<int>({by})"
        variable = lanes.variable(value) if value.type == "identifier" else None
        if common and variable in self._arrays and variable is not None:
            self._given[shuffle.call.start_byte] = f"{variable.spelled}[{by} & {LANES - 1}]"
            return
        name = self._free.take("exchanged")
        yield f"{self._type_of_value(value, statement)} {name}[{LANES}];"
        yield from self._loop([*self._recomputed([value]), f"{name}[{lane}] = {self._said(value, lane)};"])
        place = f"{lane} % {width}" if width < LANES else lane
        index = {
            "xor": f"{lane} ^ {by}",
            "down": f"{place} + {by} < {width} ? {lane} + {by} : {lane}",
            "up": f"{place} >= {by} ? {lane} - {by} : {lane}",
            "": f"{by} & {LANES - 1}" if width == LANES else f"{lane} / {width} * {width} + {by} % {width}",
        }[shuffle.way]
        self._given[shuffle.call.start_byte] = f"{name}[{index}]"

    def _type_of_value(self, value: Node, statement: Node) -> str:
        if value.type == "identifier":
            return self._type(value)
        kind = self._specifier(statement) if statement.type == "declaration" else ""
        inner = statement.named_children[0] if statement.type == "expression_statement" else statement
        if inner.type == "assignment_expression" and field(inner, "left").type == "identifier":
            kind = self._type(field(inner, "left"))
        if not kind or "auto" in kind.split() or any(True for _ in of_kind(statement, "pointer_declarator")):
            raise Unmet("the type of the exchanged value is deduced", value)
        return kind

    def _called(self, call: Node) -> Iterator[str]:
        helper = present(self._helper(call), "the kernel exchanges values with an unknown function", call)
        name, mark, rest = text_of(field(call, "function")).partition("<")
        scope = name[: name.rindex("::") + 2] if "::" in name else ""
        given = []
        for number, argument in enumerate(field(call, "arguments").named_children):
            if number not in helper.differing:
                given.append(self._said(argument, None))
                continue
            value = unwrapped(argument)
            variable = self._lanes.variable(value) if value.type == "identifier" else None
            if variable in self._arrays and variable is not None:
                given.append(variable.spelled)
                continue
            array = self._free.take("given")
            kind = self._type(value) if variable is not None else helper.types[number]
            yield f"{kind} {array}[{LANES}];"
            yield from self._loop([*self._recomputed([value]), f"{array}[{self._lane}] = {self._said(value, self._lane)};"])
            given.append(array)
        said = f"{scope}{helper.name}{mark}{rest}({', '.join(given)})"
        if helper.is_void:
            yield f"{said};"
            return
        result = self._free.take(f"{called(call)}_result")
        yield f"const auto {result} = {said};"
        self._given[call.start_byte] = result

    def _helper(self, call: Node) -> Helper | None:
        return self._helpers.get(called(call))

    # Expressions.

    def _said(self, node: Node, lane: str | None) -> str:
        """The text of one lane, or of none in particular."""
        special = self._special(node, lane)
        return special if special is not None else "".join(self._pieces(node, node.end_byte, lane))

    def _pieces(self, node: Node, end: int, lane: str | None) -> Iterator[str]:
        data, position = self._tree.data, node.start_byte
        for part in node.children:
            if part.start_byte >= end:
                break
            yield data[position : part.start_byte].decode()
            yield self._said(part, lane)
            position = part.end_byte
        yield data[position:end].decode()

    def _special(self, node: Node, lane: str | None) -> str | None:  # noqa: PLR0911 - one return for each kind of node
        lanes = self._lanes
        match node.type:
            case "call_expression" if node.start_byte in self._given:
                return self._given[node.start_byte]
            case "field_expression":
                builtin = lanes.names.builtin(node)
                if builtin == "threadIdx.x":
                    return self._thread(lane)
                if builtin == "blockDim.x":
                    return str(LANES) if lanes.block is not Block.WARPS else f"(blockDim.x * {LANES})"
            case "binary_expression":
                return self._of_warp(node, lane)
            case "return_statement" if self._leaves and lane is not None:
                return "continue;"
            case "identifier":
                return self._name(node, lane)
        return None

    def _thread(self, lane: str | None) -> str:
        if self._lanes.block is not Block.WARPS:
            return lane or "0"
        first = f"static_cast<int>(threadIdx.x) * {LANES}"
        return f"({first} + {lane})" if lane else f"({first})"

    def _of_warp(self, node: Node, lane: str | None) -> str | None:
        sign, left, value = text_of(field(node, "operator")), field(node, "left"), self._lanes.names.value(field(node, "right"))
        if self._lanes.is_of_warp(node):
            if self._is_thread(left) and (sign, value) in {("/", LANES), (">>", LANES.bit_length() - 1)}:
                return "0" if self._lanes.block is not Block.WARPS else "static_cast<int>(threadIdx.x)"
            return None if lane is None else "".join(self._pieces(node, node.end_byte, None))
        if self._is_thread(left) and (sign, value) in {("%", LANES), ("&", LANES - 1)}:
            return lane or "0"
        return None

    def _is_thread(self, node: Node) -> bool:
        node = unwrapped(node)
        if self._lanes.names.builtin(node) == "threadIdx.x":
            return True
        found = self._lanes.declared(node) if node.type == "identifier" else None
        variable = self._lanes.variable(node) if found is not None else None
        return (
            variable is not None
            and found is not None
            and found.value is not None
            and self._lanes.is_recomputed(variable)
            and self._is_thread(found.value)
        )

    def _name(self, use: Node, lane: str | None) -> str | None:
        variable = self._lanes.variable(use)
        if variable is None:
            return None
        if variable in self._arrays:
            return f"{variable.spelled}[{self._places.get(variable, lane or '0')}]"
        if variable.version:
            return variable.spelled
        if lane is None and self._lanes.differs(use) and self._lanes.is_recomputed(variable):
            found = present(self._lanes.declared(use), "declared", use)
            value = present(found.value, "has a value", use)
            said = self._said(value, None)
            return said if said.startswith("(") else operand(said)
        return None

    def _recomputed(self, nodes: Sequence[Node]) -> list[str]:
        """Declarations of what the nodes use and what can be said again, in their order."""
        wanted: dict[int, str] = {}
        waiting = list(nodes)
        while waiting:
            for use in of_kind(waiting.pop(), "identifier"):
                variable = self._lanes.variable(use)
                if (
                    variable is None
                    or variable.version
                    or not self._lanes.differs(use)
                    or not self._lanes.is_recomputed(variable)
                ):
                    continue
                found = present(self._lanes.declared(use), "declared", use)
                inside = any(is_within(found.node, n) and n.type != "declaration" for n in nodes)
                if found.node.start_byte in wanted or inside or found.node.parent is None:
                    continue
                wanted[found.node.start_byte] = f"{self._specifier(found.node.parent)} {self._said(found.node, self._lane)};"
                waiting.append(present(found.value, "has a value", use))
        return [wanted[at] for at in sorted(wanted)]

    # Text.

    def _declared(self, declarator: Node) -> Variable | None:
        return self._lanes.variable(next(of_kind(declarator, "identifier")))

    def _specifier(self, declaration: Node, *, fixed: bool = True) -> str:
        """What stands before the variables; without `const` and its like where they are to be changed."""
        first = declarators(declaration)[0].start_byte
        words = [text_of(c) for c in declaration.children if c.end_byte <= first]
        return " ".join(w for w in words if fixed or w not in _FIXING)

    def _type(self, use: Node) -> str:
        """Of a variable that is no pointer, nor an array."""
        found = present(self._lanes.declared(use), f"{text_of(use)} is not declared here", use)
        if any(True for _ in of_kind(found.node, "pointer_declarator", "array_declarator", "reference_declarator")):
            raise Unmet(f"{found.name} is not a scalar value", use)
        if found.node.type.endswith("parameter_declaration"):
            words = text_of(found.node).split()[:-1]
            return " ".join(w for w in words if w not in _FIXING)
        declaration = found.node.parent if found.node.type != "declaration" else found.node
        return self._specifier(present(declaration, "declared", use), fixed=False)

    def _block_of(self, node: Node, lane: str | None) -> list[str]:
        """The lines of a statement, moved to the margin."""
        margin = self._tree.indentation(node)
        first, *others = self._said(node, lane).split("\n")
        return [first, *(line.removeprefix(margin) for line in others)]

    def _leading(self, node: Node, *, pragmas: bool = False) -> list[str]:
        """Comments, and where they still make sense pragmas, before a statement."""
        found: list[str] = []
        before = node.prev_sibling
        while before is not None and before.type in {"comment", "preproc_call"}:
            on_line_before = (
                before.prev_sibling is not None and b"\n" not in self._tree.data[before.prev_sibling.end_byte : before.start_byte]
            )
            if before.type == "preproc_call" and pragmas:
                found.insert(0, self._tree.text_of(before).strip())
            elif before.type == "comment" and not on_line_before:
                found.insert(0, self._tree.text_of(before))
            before = before.prev_sibling
        return [line for text in found for line in text.split("\n")]


def _indented(lines: Iterable[str], by: str = _UNIT) -> Iterator[str]:
    """Directives stay at the margin."""
    return (line if line.startswith("#") else by + line for line in lines)


def _with(declared: Sequence[str], lines: Sequence[str]) -> list[str]:
    """The lines, behind the declarations that they need."""
    found = list(lines)
    for line in reversed(declared):
        name = re.findall(r"\w+", line.partition("=")[0])[-1]
        if any(re.search(rf"\b{re.escape(name)}\b", known) for known in found):
            found.insert(0, line)
    return found


def _all(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        yield item
        match item:
            case Nested():
                yield from _all((*item.inside, *item.otherwise))
            case Shared():
                yield from _all(item.inside)
