"""Analyses and rewrites LLVM IR text of a kernel before it becomes SPIR-V.

clang writes the IR unoptimised (locals in `alloca`s), so its text is regular enough to be read line by line: after templates,
macros and overloads are resolved, where source-level analysis would have to guess.
"""
