"""Remedies if NVIDIA's driver does not start: by its status, and by what the machine lacks."""

from __future__ import annotations

from pathlib import Path

from warpsmith.devices.cuda.nodes import HINT as NODES_HINT
from warpsmith.devices.cuda.nodes import is_uvm_missing

# Without `/dev/nvidia-uvm` the driver returns one of these.
_SAID_WITHOUT_UVM = {"CUDA_ERROR_UNKNOWN", "CUDA_ERROR_NOT_INITIALIZED"}
_HINTS = {
    "CUDA_ERROR_NO_DEVICE": "nvidia-smi -L lists the GPUs; CUDA_VISIBLE_DEVICES may hide them, a container needs --gpus,"
    " a GPU with MIG switched on needs an instance (nvidia-smi mig -lgi)",
    "CUDA_ERROR_STUB_LIBRARY": "LD_LIBRARY_PATH has the toolkit's stubs, which are for linking: take lib64/stubs out of it",
    "CUDA_ERROR_OUT_OF_MEMORY": "the driver reserves addresses for all memory: `ulimit -v` should print unlimited;"
    " or other programs have all of the GPU's memory (nvidia-smi)",
    # Workers are confined, so their restrictions are among the possible causes.
    "CUDA_ERROR_OPERATING_SYSTEM": "the system refuses a request of the driver, such as naming its threads in /proc;"
    " if `WARPSMITH_CONFINEMENT=off warpsmith devices` shows the GPU, it is the confinement of workers: please report that",
    "CUDA_ERROR_SYSTEM_NOT_READY": "machines with NVSwitch need a service: systemctl start nvidia-fabricmanager",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "kernel module and library are of different releases: restart the machine",
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": "LD_LIBRARY_PATH has CUDA's compatibility libraries, not for this GPU",
    "CUDA_ERROR_MPS_CONNECTION_FAILED": "confined workers cannot use the multi-process service; to stop it:"
    " echo quit | nvidia-cuda-mps-control",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "another program has the GPU for itself (nvidia-smi shows which); as root, to share it:"
    " nvidia-smi -c DEFAULT",
}


def hint_for(status: str, root: Path = Path("/")) -> str:
    if status in _SAID_WITHOUT_UVM and is_uvm_missing(root):
        return f"/dev/nvidia-uvm is missing; {NODES_HINT}"
    return _HINTS.get(status, "nvidia-smi may say more")


def hint_in(message: str) -> str | None:
    """For a message that contains the driver's status."""
    return next((hint for status, hint in _HINTS.items() if status in message), None)
