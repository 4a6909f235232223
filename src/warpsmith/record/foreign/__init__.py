"""Readers for recordings of other tuners: Kernel Tuner caches and T4 result files."""

from warpsmith.record.foreign.load import load_recording, load_recordings
from warpsmith.record.foreign.recording import Objective, Recording

__all__ = ["Objective", "Recording", "load_recording", "load_recordings"]
