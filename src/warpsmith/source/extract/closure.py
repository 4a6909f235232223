"""Which declarations and macros a kernel needs: everything its text mentions, and what those mention, to the end.

Host functions are never taken, for device code cannot call them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpsmith.devices._clang.tokens import Token
from warpsmith.source.extract.declarations import Declaration, Kind, Scope, plain, visible_from
from warpsmith.source.extract.program import Program
from warpsmith.source.tokens.macros import Macro
from warpsmith.source.tokens.uses import Mentions, Use, mentions

# Namespaces of libraries for device code that a directive may open. Not std: what it has for a device is always spelled out.
LIBRARIES = frozenset({"cub", "cooperative_groups", "nvcuda", "thrust", "cuda"})


@dataclass(frozen=True, slots=True)
class Closure:
    """What is needed; `mentioned` is every name that stayed in sight, also those that nothing here declares."""

    declarations: tuple[Declaration, ...]
    directives: tuple[Declaration, ...]  # `using namespace …;` around them
    macros: tuple[Macro, ...]
    mentioned: frozenset[Use]
    opened: frozenset[Scope]


def closure_of(program: Program, kernel: Sequence[Declaration], instance: Sequence[Token]) -> Closure:
    """Of the kernel's declarations and of what its template arguments name."""
    search = _Search(program)
    for declaration in kernel:
        search.take(declaration)
    search.follow(mentions(instance), plain(kernel[0].scope))
    return search.finish()


class _Search:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._kept: dict[Declaration, None] = {}
        self._macros: dict[Macro, None] = {}
        self._mentioned: set[Use] = set()
        self._opened: set[Scope] = set()
        self._called: set[str] = set()
        self._waiting: list[Declaration] = []
        self._companions = list(program.companions())

    def take(self, declaration: Declaration) -> None:
        if declaration not in self._kept:
            self._kept[declaration] = None
            self._waiting.append(declaration)

    def follow(self, found: Mentions, scope: Scope | None) -> None:
        opened = self._program.opened(found)
        self._opened |= opened
        for use in found.uses:
            if use in self._mentioned and scope is None:
                continue
            self._mentioned.add(use)
            for declaration in self._program.candidates(use, scope, opened):
                if declaration not in self._kept and self._program.is_wanted(declaration):
                    self.take(declaration)
            if not use.qualifier:
                self._take_macros(use.name)
                if use.is_called:
                    self._called.add(use.name)

    def finish(self) -> Closure:
        while self._waiting:
            while self._waiting:
                declaration = self._waiting.pop()
                self.follow(self._program.mentions_of(declaration), plain(declaration.scope))
            self._take_companions()
            self._take_by_arguments()
        kept = tuple(sorted(self._kept, key=lambda d: d.start))
        directives = tuple(self._directives({plain(d.scope) for d in kept}))
        macros_in_order = tuple(sorted(self._macros, key=lambda m: m.start))
        return Closure(kept, directives, macros_in_order, frozenset(self._mentioned), frozenset(self._opened))

    def _directives(self, scopes: set[Scope]) -> Iterator[Declaration]:
        """Those in a namespace that something is taken from, and that open another such one or a library's."""
        for declaration in self._program.declarations:
            if declaration.kind is not Kind.USING_NAMESPACE or plain(declaration.scope) not in scopes:
                continue
            found = mentions(declaration.item.tokens)
            (names,) = found.opened
            is_library = names[0] in LIBRARIES and not self._program.opened(found)
            if is_library or any(scope[: len(opened)] == opened for opened in self._program.opened(found) for scope in scopes):
                self._mentioned |= found.uses if is_library else set()
                yield declaration

    def _take_macros(self, name: str) -> None:
        for macro in self._program.macros_named(name):
            if macro not in self._macros:
                self._macros[macro] = None
                self.follow(macro.mentions(), None)

    def _take_by_arguments(self) -> None:
        """Functions called by their bare names, in the namespaces of types that were taken: any of those may be an argument's."""
        namespaces = {visible_from(d.scope) for d in self._kept if d.kind in {Kind.TYPE, Kind.ALIAS}}
        for name in self._called:
            for declaration in self._program.found_by_arguments(name, namespaces):
                if declaration not in self._kept and self._program.is_wanted(declaration):
                    self.take(declaration)

    def _take_companions(self) -> None:
        """Operators, and specialisations of others' templates, that are about a type which was taken."""
        types = {name for d in self._kept if d.kind in {Kind.TYPE, Kind.ALIAS} and not d.is_specialisation for name in d.names}
        for declaration, words in self._companions:
            if declaration not in self._kept and types & words:
                self.take(declaration)


def unknown_namespaces(program: Program, closure: Closure, known: frozenset[str]) -> tuple[set[str], set[str]]:
    """Namespaces that nothing in sight declares: those that the result names, and those that a directive opens around it."""
    qualifiers = {use.qualifier for use in closure.mentioned if use.qualifier}
    bare = {use.name for use in closure.mentioned if not use.qualifier}
    scopes = {plain(d.scope) for d in closure.declarations}
    around = [d for d in program.declarations if d.kind is Kind.USING_NAMESPACE and plain(d.scope) in scopes]
    opened = {names[0] for d in around for names in mentions(d.item.tokens).opened}

    def unknown(names: set[str]) -> set[str]:
        return {n for n in names if not program.is_namespace(n) and not program.declares(n) and n not in known}

    return unknown(qualifiers & bare), unknown(opened)
