"""cuRAND's device functions. The expected numbers were computed with the generators of CUDA 12.9's own headers, on the host."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import compile_kernel, launch

from warpsmith.core.errors import UnsupportedFeature

SOURCE = """
#include <curand_kernel.h>
static_assert(sizeof(curandState) == 48 && sizeof(curandStatePhilox4_32_10_t) == 64);
template <class State> __global__ void k(double* out, const unsigned long long* seeds) {
  const int i = threadIdx.x;
  State state;
  curand_init(seeds[3 * i], seeds[3 * i + 1], seeds[3 * i + 2], &state);
  out += 9 * i;
  for (int n = 0; n < 5; ++n) out[n] = curand(&state);
  skipahead(12345, &state);
  skipahead_sequence(99, &state);
  out[5] = curand(&state);
  out[6] = curand_uniform(&state);
  out[7] = curand_uniform_double(&state);
  out[8] = curand_normal(&state);
}
__global__ void four(double* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(42, 7, 3, &state);
  const uint4 n = curand4(&state);
  out[0] = n.x, out[1] = n.y, out[2] = n.z, out[3] = n.w;
}
"""
SEEDS = np.array([(0, 0, 0), (1, 1, 3), (1, 0xFEDCBA9876543210, 0), (2**64 - 1, 123456789, 500_000_000_000_000)], np.uint64)
EXPECTED = {
    "curandState": [
        [3179217846, 1883133293, 2220552389, 674260989, 306521119, 3007858549, 0.584440887, 0.81099859157671261, -0.338894546],
        [3038819597, 2022823837, 112950610, 200453434, 2478657397, 2993839988, 0.339347214, 0.97192111412881776, -0.650826991],
        [2602465202, 537991353, 1788911630, 2436751358, 386331570, 321035713, 0.743486345, 0.1869693400060774, 1.53265679],
        [336845288, 1340948459, 508657704, 3586025895, 2732540923, 3418047011, 0.06625662, 0.69923012331167844, -0.0218811128],
    ],
    "curandStatePhilox4_32_10_t": [
        [1713891541, 3781805453, 3159862348, 2600524760, 4175744164, 2671826248, 0.629120886, 0.23612777958624065, -0.81508255],
        [1839381922, 995334991, 4031402112, 3514262466, 1513550755, 15474575, 0.0134476088, 0.213898457121104, -1.8737582],
        [2978429557, 1270401347, 1952397000, 91794661, 3259796168, 2870050039, 0.859028935, 0.78516262420453131, -1.22742903],
        [1027634293, 4256849546, 1709579415, 1339336450, 2517172503, 329894395, 0.80946666, 0.45457963855005801, 0.044688236],
    ],
}


@pytest.mark.parametrize("state", EXPECTED)
def test_the_numbers_are_those_of_cuda(state: str) -> None:
    """Seeds, sequences and offsets of all sizes: integers equal, floating point to its last digits."""
    numbers = launch(SOURCE, [np.zeros((4, 9)), SEEDS], entry=f"k<{state}>", block=4)
    expected = np.array(EXPECTED[state])
    np.testing.assert_array_equal(numbers[:, :6], expected[:, :6])
    np.testing.assert_allclose(numbers[:, 6:], expected[:, 6:], rtol=1e-6)


def test_four_at_a_time_continue_where_single_numbers_ended() -> None:
    numbers = launch(SOURCE, [np.zeros(4)], entry="four", block=1)
    np.testing.assert_array_equal(numbers, [1433639123, 3856525632, 1611620758, 2412640497])


def test_other_generators_are_refused() -> None:
    source = "#include <curand_kernel.h>\n__global__ void k(float* o) {\n  curandStateMRG32k3a s; o[0] = curand_uniform(&s); }"
    with pytest.raises(UnsupportedFeature, match="this part of cuRAND") as refused:
        compile_kernel(source, [np.zeros(1, np.float32)])
    assert refused.value.location is not None
    assert refused.value.location.line == 3
