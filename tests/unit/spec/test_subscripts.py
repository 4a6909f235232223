"""Template arguments that `init` guesses: integers where values are subscripts, casts for enumerations."""

from __future__ import annotations

from warpsmith.core.hardware import Language
from warpsmith.spec.declarations import Declarations, find_kernels
from warpsmith.spec.skeleton import instance_of

TEXT = """
template <typename V, typename Map, typename Count, typename Place, Kind KIND, int WIDTH, bool FAST>
__global__ void gather(V* out, const V* x, const Map* map, Count n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { const Place place = map[i]; out[i] = x[map[i] * WIDTH + 1] + x[place] + x[n - 1]; }
}
"""


def test_by_what_the_kernel_does_with_them() -> None:
    (kernel,) = find_kernels(Declarations(TEXT, Language.CUDA))
    guessed = {p.name: instance_of(p, kernel) for p in kernel.template}
    assert guessed == {
        "V": "float",
        "Map": "int",
        "Count": "int",
        "Place": "int",
        "KIND": "static_cast<Kind>(0)",
        "WIDTH": "1",
        "FAST": "false",
    }
