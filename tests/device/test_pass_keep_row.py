"""A row kept between the passes over it gives the same results as one that is read again."""

from __future__ import annotations

from pass_support import Runner, original, rewritten

from warpsmith.refactor.passes.keep_row import KeepRow


def test_the_bundled_softmax(pool):
    kernel, variant = original("softmax")
    rewrite = rewritten(KeepRow(), kernel, variant, pool.describe().limits)
    odd = [w for w in kernel.workloads if w.name == "odd-tail"]
    Runner(pool, kernel, variant, odd).check([(rewrite.alternatives[1], {}), (rewrite.alternatives[2], {"ROW": 2})])
