"""Which declarations and macros a kernel needs: everything its text mentions, and what those mention, to the end.

Names are looked up roughly as C++ does (enclosing namespaces, opened ones, a call's arguments' namespaces), always on the side of
taking too much; host functions are never taken, for device code cannot call them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpsmith.devices._clang.tokens import Kind as TokenKind
from warpsmith.devices._clang.tokens import Token, tokenize
from warpsmith.devices.cpu.items import device_words, split
from warpsmith.source.extract.declarations import Declaration, Kind, Scope, declaration_of, declarations, plain
from warpsmith.source.extract.macros import Macro, expanded, macros
from warpsmith.source.extract.members import member_names, without_host_members
from warpsmith.source.extract.syntax import parameter_name, template_parameters
from warpsmith.source.extract.uses import Mentions, Use, mentions, namespace_aliases

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


class Program:
    """The unit's declarations and macros, looked up by name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(tokenize(text))
        self.marks = device_words(self.tokens)
        self.macros = macros(self.tokens)
        self._by_macro: dict[str, list[Macro]] = defaultdict(list)
        for macro in self.macros:
            self._by_macro[macro.name].append(macro)
        self._last_macro = {macro.name: macro for macro in self.macros if not macro.is_end}
        self.declarations = [self._seen_through(declaration) for declaration in declarations(self.tokens)]
        self._by_name: dict[str, list[Declaration]] = defaultdict(list)
        for declaration in self.declarations:
            for name in declaration.names:
                self._by_name[name].append(declaration)
        self.namespaces = frozenset(
            plain(d.scope)[:depth] for d in self.declarations for depth in range(1, len(plain(d.scope)) + 1)
        )
        self._last_names = frozenset(scope[-1] for scope in self.namespaces)
        self._aliases = namespace_aliases(self.tokens)
        self._wanted: dict[Declaration, bool] = {}
        self._opened_everywhere = frozenset(
            scope for d in self.declarations if d.kind is Kind.USING_NAMESPACE for scope in self._opened(mentions(d.item.tokens))
        )

    def kernels(self) -> list[Declaration]:
        return [d for d in self.declarations if d.is_kernel or self._is_kernel_by_macro(d)]

    def closure(self, kernel: Sequence[Declaration], instance: Sequence[Token]) -> Closure:
        """Of the kernel's declarations and of what its template arguments name."""
        search = _Search(self)
        for declaration in kernel:
            search.take(declaration)
        search.follow(mentions(instance), plain(kernel[0].scope))
        return search.finish()

    def candidates(self, use: Use, scope: Scope | None, opened: frozenset[Scope]) -> Iterator[Declaration]:
        """What a use may mean where it stands; `scope` None is a macro's text, which can stand anywhere."""
        found = self._by_name.get(use.name, ())
        if use.qualifier:
            last = self._aliases.get(use.qualifier, use.qualifier)
            if last not in self._last_names:
                return
            direct = [d for d in found if plain(d.scope)[-1:] == (last,)]
            yield from direct or (d for d in found if last in plain(d.scope))
            return
        for declaration in found:
            home = plain(declaration.scope)
            if (
                scope is None
                or scope[: len(home)] == home
                or home in opened
                or home in self._opened_everywhere
                or (use.is_called and declaration.kind is Kind.FUNCTION)
            ):
                yield declaration

    def text_of(self, declaration: Declaration) -> str:
        """As written; of a macro call, what it stands for."""
        if declaration.kind is Kind.MACRO_CALL:
            return expanded(declaration.item.tokens, self._last_macro)
        return self.text[declaration.start : declaration.end]

    def macros_named(self, name: str) -> list[Macro]:
        return self._by_macro.get(name, [])

    def is_namespace(self, name: str) -> bool:
        return name in self._last_names or name in self._aliases

    def declares(self, name: str) -> bool:
        return name in self._by_name

    def opened(self, found: Mentions) -> frozenset[Scope]:
        return frozenset(self._opened(found))

    def _opened(self, found: Mentions) -> Iterator[Scope]:
        for names in found.opened:
            target = tuple(self._aliases.get(name, name) for name in names)
            yield from (scope for scope in self.namespaces if scope[-len(target) :] == target)

    def _seen_through(self, declaration: Declaration) -> Declaration:
        """A macro call that stands for declarations goes by the names of those."""
        if declaration.kind is not Kind.MACRO_CALL or not declaration.names & self._last_macro.keys():
            return declaration
        inner = self._expansion(declaration)
        names = frozenset(name for d in inner for name in d.names)
        return Declaration(declaration.item, Kind.MACRO_CALL, names, declaration.scope)

    def _expansion(self, call: Declaration) -> list[Declaration]:
        return [declaration_of(item, call.scope) for item in split(list(tokenize(self.text_of(call))))]

    def _is_kernel_by_macro(self, declaration: Declaration) -> bool:
        if declaration.kind is Kind.MACRO_CALL:
            return any(d.is_kernel for d in self._expansion(declaration))
        if declaration.kind is not Kind.FUNCTION:
            return False
        return any(
            "__global__" in self._last_macro[token.text].replacement
            for token in declaration.item.head
            if token.text in self._last_macro
        )

    def is_wanted(self, declaration: Declaration) -> bool:
        """Whether it can be part of device code at all; other kernels cannot."""
        if declaration not in self._wanted:
            self._wanted[declaration] = self._is_wanted(declaration)
        return self._wanted[declaration]

    def companions(self) -> Iterator[tuple[Declaration, set[str]]]:
        """Operators, and specialisations of others' templates, with the words that say what they are about."""
        primaries = {(d.kind, name) for d in self.declarations if not d.is_specialisation for name in d.names}
        for declaration in self.declarations:
            is_foreign = declaration.is_specialisation and not {(declaration.kind, n) for n in declaration.names} & primaries
            if (declaration.is_operator or is_foreign) and self.is_wanted(declaration):
                yield declaration, {token.text for token in declaration.item.head if token.kind is TokenKind.WORD}

    def _is_wanted(self, declaration: Declaration) -> bool:
        if declaration.kind is Kind.MACRO_CALL:
            inner = self._expansion(declaration)
            return any(d.is_for_device(self.marks) and not d.is_kernel for d in inner)
        is_other_kernel = declaration.is_kernel or self._is_kernel_by_macro(declaration)
        return not is_other_kernel and declaration.is_for_device(self.marks)

    def mentions_of(self, declaration: Declaration) -> Mentions:
        tokens = without_host_members(declaration.item, self.marks)
        if declaration.kind is Kind.MACRO_CALL and (inner := self._expansion(declaration)):
            tokens = [*tokens, *(token for d in inner for token in d.item.tokens)]
        own = {parameter_name(part) for part in template_parameters(tokens)} | member_names(declaration.item) | declaration.names
        return mentions(tokens, (name for name in own if name))


class _Search:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._kept: dict[Declaration, None] = {}
        self._macros: dict[Macro, None] = {}
        self._mentioned: set[Use] = set()
        self._opened: set[Scope] = set()
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

    def finish(self) -> Closure:
        while self._waiting:
            while self._waiting:
                declaration = self._waiting.pop()
                self.follow(self._program.mentions_of(declaration), plain(declaration.scope))
            self._take_companions()
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
