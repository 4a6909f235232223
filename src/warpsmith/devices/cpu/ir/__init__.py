"""LLVM IR as text: what the CPU device must know and change about a kernel before it becomes SPIR-V.

clang writes the IR unoptimised (locals in `alloca`s), so its text is regular enough to be read line by line: after templates,
macros and overloads are resolved, where source-level analysis would have to guess.
"""
