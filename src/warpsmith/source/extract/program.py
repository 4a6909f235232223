"""The unit's declarations and macros, looked up by name roughly as C++ does, always on the side of finding too much."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from warpsmith.devices._clang.items import device_words, split
from warpsmith.devices._clang.tokens import Kind as TokenKind
from warpsmith.devices._clang.tokens import tokenize
from warpsmith.source.extract.declarations import Declaration, Kind, Scope, declaration_of, declarations, plain, visible_from
from warpsmith.source.extract.members import member_names, without_host_members
from warpsmith.source.extract.tensor_text import DEVICE_MARKS
from warpsmith.source.tokens.macros import Macro, braces_left, expanded, macros
from warpsmith.source.tokens.syntax import parameter_name, template_parameters
from warpsmith.source.tokens.uses import Mentions, Use, mentions, namespace_aliases


class Program:
    """The unit's declarations and macros, looked up by name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(tokenize(text))
        self.marks = device_words(self.tokens, DEVICE_MARKS)
        self.macros = macros(self.tokens)
        self._by_macro: dict[str, list[Macro]] = defaultdict(list)
        for macro in self.macros:
            self._by_macro[macro.name].append(macro)
        self._last_macro = {macro.name: macro for macro in self.macros if not macro.is_end}
        self.declarations = [
            self._seen_through(declaration) for declaration in declarations(self.tokens, braces_left(self._last_macro.values()))
        ]
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
            home = visible_from(declaration.scope)
            if scope is None or scope[: len(home)] == home or home in opened or home in self._opened_everywhere:
                yield declaration

    def found_by_arguments(self, name: str, namespaces: set[Scope]) -> list[Declaration]:
        """Functions that a call finds because of where its arguments' types are from."""
        return [d for d in self._by_name.get(name, ()) if d.kind is Kind.FUNCTION and visible_from(d.scope) in namespaces]

    def text_of(self, declaration: Declaration) -> str:
        """As written; of a macro call, what it stands for."""
        if declaration.kind is Kind.MACRO_CALL:
            return expanded(declaration.item.tokens, self._last_macro)
        return self.text[declaration.start : declaration.end]

    def macros_named(self, name: str) -> list[Macro]:
        return self._by_macro.get(name, [])

    @property
    def numbers(self) -> dict[str, str]:
        """Macros that stand for a number."""
        texts = {macro.name: macro.replacement.strip() for macro in self._last_macro.values() if macro.parameters is None}
        return {name: text for name, text in texts.items() if text.isdigit()}

    @property
    def namespace_names(self) -> frozenset[str]:
        return self._last_names

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
        return mentions(tokens, (name for name in own if name and name not in self._by_macro))  # `vec() DEFAULTED;`
