"""The reading worker: `python -m warpsmith.refactor.confined.worker`."""

from __future__ import annotations

import pickle
from typing import Any, TypeAlias

from warpsmith.core.errors import InputError
from warpsmith.isolation.serving import serve
from warpsmith.refactor.base import Declined
from warpsmith.refactor.confined.jobs import CheckForm, LaneAccesses, LookAt
from warpsmith.refactor.drafting.checks import Faulty
from warpsmith.refactor.drafting.form_checks import check_form, check_whole_template
from warpsmith.refactor.drafting.look import look
from warpsmith.source import parse_kernel
from warpsmith.source.lane_strides import lane_accesses

Blobs: TypeAlias = tuple[bytes, ...]
Answer: TypeAlias = tuple[Any, tuple[bytes, ...]]

_TOO_DEEP = "it is nested too deeply to parse: write simpler expressions and statements"


def _check_form(job: CheckForm, blobs: Blobs, _fds: tuple[int, ...]) -> Answer:
    kernel, limits = pickle.loads(blobs[0])  # noqa: S301 - from the tuner, of what the user wrote
    try:
        (check_whole_template if job.is_whole_template else check_form)(job.proposal, kernel, limits)
    except Faulty as fault:
        return str(fault), ()
    except RecursionError:
        return _TOO_DEEP, ()
    return None, ()


def _look_at(job: LookAt, blobs: Blobs, _fds: tuple[int, ...]) -> Answer:
    draft, transform = pickle.loads(blobs[0])  # noqa: S301 - as above
    try:
        return look(draft, transform, job.variant), ()
    except RecursionError:
        return Declined(_TOO_DEEP), ()


def _lane_accesses(job: LaneAccesses, _blobs: Blobs, _fds: tuple[int, ...]) -> Answer:
    try:
        return lane_accesses(parse_kernel(job.text, job.language, job.entry), job.parameters), ()
    except (InputError, RecursionError):
        return (), ()


if __name__ == "__main__":
    serve({CheckForm: _check_form, LookAt: _look_at, LaneAccesses: _lane_accesses})
