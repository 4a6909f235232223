"""A stand-in for PyTorch on a GPU, which cannot be had here: just what an exported package asks of it, over host memory.

Figures of the device are an H100's. With the real PyTorch, packages were traced and exported (`benchmarks/reintegration.py`).
"""

import ctypes
import types
from contextlib import nullcontext

float32, float16, bfloat16, int32 = "torch.float32", "torch.float16", "torch.bfloat16", "torch.int32"
contiguous_format = "contiguous"
_BYTES = {float32: 4, float16: 2, bfloat16: 2, int32: 4}
STREAM = 4660


class Device:
    def __init__(self, kind, index):
        self.type, self.index = kind, index

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


class Tensor:
    requires_grad = False
    version = 0
    __torch_dispatch__ = None

    def __init__(self, shape, dtype=float32, device=None, offset=0, contiguous=True, of=None, strides=None):
        self.shape, self.dtype, self.device = tuple(shape), dtype, device or Device("cuda", 0)
        count = 1
        for extent in shape:
            count *= extent
        self._memory = of._memory if of is not None else ctypes.create_string_buffer(count * _BYTES[dtype] + 512)
        start = ctypes.addressof(self._memory)
        self._address = (start + 255) // 256 * 256 + offset
        self._contiguous, self._strides = contiguous, strides
        self.copied_from = None

    def dim(self):
        return len(self.shape)

    def data_ptr(self):
        return self._address

    def is_contiguous(self):
        return self._contiguous

    def is_neg(self):
        return False

    def is_inference(self):
        return False

    def stride(self):
        return self._strides or (1,) * len(self.shape)

    @property
    def nbytes(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count * _BYTES[self.dtype]

    def clone(self, memory_format=None):
        return Tensor(self.shape, self.dtype, self.device)

    def copy_(self, other):
        self.copied_from = other


def empty(shape, dtype, device):
    return Tensor(shape, dtype, device)


def is_grad_enabled():
    return True


def _increment_version(tensors):
    for tensor in tensors:
        tensor.version += 1


class _Operators:
    pass


class _Operator:
    def register_fake(self, function):
        pass


def _custom_op(name, function, *, mutates_args, device_types, schema):
    namespace, _, word = name.partition("::")
    setattr(getattr(ops, namespace), word, function)
    return _Operator()


_about = types.SimpleNamespace(
    major=9, minor=0, max_threads_per_block=1024, shared_memory_per_block_optin=232448, warp_size=32, multi_processor_count=132
)
version = types.SimpleNamespace(hip=None)
autograd = types.SimpleNamespace(graph=types.SimpleNamespace(increment_version=_increment_version))
_C = types.SimpleNamespace(
    _len_torch_dispatch_stack=lambda: 0, _functorch=types.SimpleNamespace(peek_interpreter_stack=lambda: None)
)
ops = types.SimpleNamespace(warpsmith_tuned=_Operators())
nn = types.SimpleNamespace(Parameter=type("Parameter", (Tensor,), {}))
library = types.SimpleNamespace(custom_op=_custom_op)
compiler = types.SimpleNamespace(is_compiling=lambda: False)
cuda = types.SimpleNamespace(
    current_device=lambda: 0,
    device=lambda index: nullcontext(),
    current_stream=lambda index: types.SimpleNamespace(cuda_stream=STREAM, synchronize=lambda: None),
    get_device_properties=lambda index: _about,
    is_current_stream_capturing=lambda: False,
)
