"""Sources that are meant for the reader, and kernels that are meant for the machine."""

from __future__ import annotations

from benchmarks.cheats.candidate import Candidate, Path, rows

SOURCES, HOGS = "hostile sources", "takes the machine"

_BOMB = "#define A0 + 1\n" + "".join(f"#define A{i} A{i - 1} A{i - 1} A{i - 1} A{i - 1}\n" for i in range(1, 24))
_DOUBLING = "#define D0(x) x x\n" + "".join(f"#define D{i}(x) D{i - 1}(D{i - 1}(x))\n" for i in range(1, 8))
_ELIFS = "#if 0\n" + "".join(f"#elif {i} == 0\nint never{i};\n" for i in range(1, 20_000)) + "#endif\n"
_DEEP = "__device__ int deep() { return " + "(" * 50_000 + "1" + ")" * 50_000 + "; }"
_BRACES = "__device__ void many() " + "{" * 40_000 + "}" * 40_000
_ANGLES = "__device__ int angles(int a) { return a " + "< 1 " * 40_000 + "; }"
_OPEN = "template " + "<" * 60_000
_ENDLESS = "template <int N> __device__ int down() { return down<N + 1>() + 1; }"
_CONSTEXPR = "constexpr int spin() { int s = 0; for (long i = 0; i < 1000000000000L; ++i) s += (int)i; return s; }\n__device__ constexpr int spun = spin();"
_LONG_LINE = "// " + "x" * 390_000 + "\n"
_WIDE = "__device__ constexpr int wide[1 << 30] = {1};"
_SPLICES = "#def\\\nine KEEP __dev\\\nice__ float kept[512]\n"

CANDIDATES = (
    Candidate(SOURCES, "macros that grow to 4^23 words", rows(before=_BOMB, last="sum += 0 A23;")),
    Candidate(SOURCES, "macros with arguments that double", rows(before=_DOUBLING, last="D7(sum += 0;)")),
    Candidate(SOURCES, "20,000 #elif", rows(before=_ELIFS)),
    Candidate(SOURCES, "50,000 brackets in each other", rows(before=_DEEP)),
    Candidate(SOURCES, "40,000 braces in each other", rows(before=_BRACES)),
    Candidate(SOURCES, "40,000 times less than", rows(before=_ANGLES)),
    Candidate(SOURCES, "60,000 opened angles", rows(before=_OPEN)),
    Candidate(SOURCES, "a template that calls itself for ever", rows(before=_ENDLESS, last="sum += 0.0f * down<0>();")),
    Candidate(SOURCES, "a constant that takes for ever", rows(before=_CONSTEXPR, last="sum += 0.0f * spun;")),
    Candidate(SOURCES, "a line of 390,000 characters", rows(before=_LONG_LINE, first="return;")),
    Candidate(SOURCES, "includes a file of the machine", rows(before='#include "/etc/passwd"')),
    Candidate(SOURCES, "includes itself", rows(before="#include __FILE__")),
    Candidate(SOURCES, "includes a name from a macro", rows(before='#define WHERE "/etc/hostname"\n#include WHERE')),
    Candidate(SOURCES, "embeds a file", rows(before='__device__ constexpr unsigned char secret[] = {\n#embed "/etc/passwd"\n};')),
    Candidate(SOURCES, "asks whether a file is there", rows(before='#if __has_include("/etc/shadow")\nint there;\n#endif')),
    Candidate(SOURCES, "a file by the assembler", rows(before='asm(".incbin \\"/etc/passwd\\"");')),
    Candidate(SOURCES, "a table of four gigabytes", rows(before=_WIDE, last="sum += 0.0f * wide[r];")),
    Candidate(
        SOURCES,
        "a directive in pieces",
        rows(
            before=_SPLICES + "KEEP;",
            first="if (rows == 512 && kept[r] != 0) { out[r] = kept[r]; return; }",
            last="kept[r] = sum;",
        ),
    ),
    Candidate(
        SOURCES,
        "trigraphs and digraphs",
        rows(
            before="%:define KEEP __device__ float kept<:512:>\nKEEP;",
            first="if (rows == 512 && kept[r] != 0) { out[r] = kept[r]; return; }",
            last="kept[r] = sum;",
        ),
    ),
    Candidate(SOURCES, "a NUL in the middle", rows(before="// \0\n__device__ float kept[512];")),
    Candidate(HOGS, "runs for ever", rows(first="volatile int on = 1; while (on) {}")),
    Candidate(HOGS, "runs for ever on one shape only", rows(first="volatile int on = 1; while (rows == 7 && on) {}")),
    Candidate(
        HOGS,
        "waits for a block that never comes",
        rows(first="volatile float* flag = out; while (r == 0 && flag[rows - 1] != 123.0f) {}"),
    ),
    Candidate(HOGS, "a gigabyte of locals", rows(first="volatile float big[1 << 28]; big[r] = 1.0f;")),
    Candidate(
        HOGS,
        "calls itself without end",
        rows(
            before="__device__ int fall(volatile int* p) { int x = *p; return fall(&x) + x; }",
            last="int z = 0; sum += 0.0f * fall(&z);",
        ),
    ),
    Candidate(
        HOGS,
        "allocates without end",
        rows(first="for (int i = 0; i < 1000000; ++i) { volatile char* p = (volatile char*)malloc(1 << 24); if (p) p[0] = 1; }"),
    ),
    Candidate(HOGS, "traps", rows(first='asm volatile("trap;");')),
    Candidate(HOGS, "stops at an assertion", rows(before="#include <assert.h>", first="assert(rows == 0);")),
    Candidate(
        HOGS,
        "divides by zero",
        rows(first="volatile int zero = 0; if (rows / zero == 1) return;"),
        why_not="GPUs do not trap, either",
    ),
    Candidate(HOGS, "writes to address zero", rows(first="*(volatile float*)0 = 1.0f;")),
    Candidate(
        HOGS,
        "writes all over the process",
        rows(first="for (long i = -4000000; i < 4000000; i += 512) ((volatile float*)out)[i] = 3.0f;"),
    ),
    Candidate(HOGS, "forks", rows(before='extern "C" __device__ int fork();', first="fork();")),
    Candidate(HOGS, "sends signals", rows(before='extern "C" __device__ int kill(int, int);', first="kill(-1, 9);")),
    Candidate(HOGS, "leaves the process", rows(before='extern "C" __device__ void _exit(int);', first="_exit(0);")),
    Candidate(HOGS, "asks for a system call", rows(first='asm volatile("syscall" : : "a"(57));')),
    Candidate(
        HOGS,
        "prints without end",
        rows(before="#include <stdio.h>", first='for (int i = 0; i < 100000000; ++i) printf("%d", i);'),
    ),
    Candidate(HOGS, "prints a line", rows(before="#include <stdio.h>", first='if (r == 0) printf("%d", rows);')),
    Candidate(HOGS, "a grid of 2^31 blocks", rows(), launch=(("2147483647",), ("1024",))),
    Candidate(HOGS, "a terabyte of shared memory", rows(), shared="1099511627776"),
    Candidate(HOGS, "a template that runs for ever", rows(first="volatile int on = 1; while (on) {}"), path=Path.TEMPLATE),
    Candidate(HOGS, "a rewrite that runs for ever", rows(first="volatile int on = 1; while (on) {}"), path=Path.REWRITE),
)
