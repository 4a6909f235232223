"""kill -9 at random moments, of the tuner, a compile worker or a measuring worker: the run goes on, nothing is left behind.

`python -m benchmarks killing 100` for so many; `WARPSMITH_KILL_SEED` for other moments.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_DEFAULT = 20
_LONGEST_S = 4.0  # after which a process is killed, at the latest
_LONGEST_WORKING_S = 1.5  # after a worker was there
_KILLS_OF_A_RUN = 6
_EVALUATIONS = 24
_WORKERS = {"compile worker": "warpsmith.compile.worker", "measuring worker": "warpsmith.measure.worker"}
_FRESH_S = 61  # younger scratch folders are not swept: they may not be locked yet
_SOURCE = """\
#ifndef BLOCK
#define BLOCK 128
#endif
#ifndef ITEMS
#define ITEMS 1
#endif
__global__ void scale(float* out, const float* in, float factor, int n) {
    for (int j = 0; j < ITEMS; ++j) {
        int i = (blockIdx.x * ITEMS + j) * BLOCK + threadIdx.x;
        if (i < n) out[i] = factor * in[i];
    }
}
"""
_SPECIFICATION = """\
[kernel]
name = "scale"
source = "scale.cu"
entry = "scale"

[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
in = { dtype = "f32", shape = ["n"], role = "in" }
factor = { dtype = "f32", value = 1.5 }
n = { dtype = "i32", value = "n" }

[launch]
grid = ["ceildiv(n, BLOCK * ITEMS)"]
block = ["BLOCK"]

[workloads]
even = { n = 40000 }
odd = { n = 9973 }

[parameters]
BLOCK = { values = [32, 64, 128, 256, 512, 1024], default = 128 }
ITEMS = { values = [1, 2, 3, 4, 6, 8], default = 1 }
"""


@dataclass
class _Ground:
    """One record, one scratch folder, one kernel: all that the runs may leave something in."""

    folder: Path
    kernel: Path
    home: Path
    scratch: Path

    @classmethod
    def make(cls, folder: Path) -> _Ground:
        ground = cls(folder, folder / "scale", folder / "home", folder / "scratch")
        for place in (ground.kernel, ground.home, ground.scratch):
            place.mkdir()
        (ground.kernel / "scale.cu").write_text(_SOURCE)
        (ground.kernel / "kernel.toml").write_text(_SPECIFICATION)
        return ground

    @property
    def environment(self) -> dict[str, str]:
        given = {"WARPSMITH_HOME": str(self.home), "WARPSMITH_CLAIM_PROCESSES": "2", "TMPDIR": str(self.scratch)}
        return {**os.environ, **given}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "warpsmith", *arguments, "--json"]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def show(self) -> dict[str, Any]:
        process = self.start("show", "last", "--evaluations")
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, f"the record does not open: {err}"
        return json.loads(out)

    def evaluated(self) -> int:
        database = self.home / "runs.sqlite"
        if not database.exists():
            return 0
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=20)) as connection, suppress(sqlite3.Error):
            run = connection.execute("SELECT run FROM runs ORDER BY created_at DESC LIMIT 1").fetchone()
            return int(connection.execute("SELECT count(*) FROM evaluations WHERE run = ?", run or ("",)).fetchone()[0])
        return 0

    def workers(self, what: str) -> list[int]:
        return [pid for pid, command in self.processes().items() if _WORKERS[what] in command]

    def processes(self) -> dict[int, str]:
        """What has our scratch folder in its environment, with its command line; the dead have neither."""
        return {pid: command for pid, command, environment in _processes() if str(self.scratch).encode() in environment}


@dataclass
class _Account:
    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    condemned: int = 0
    faults: list[str] = field(default_factory=list)


def main() -> None:
    wanted = next((int(argument) for argument in sys.argv[1:] if argument.isdecimal()), _DEFAULT)
    seed = int(os.environ.get("WARPSMITH_KILL_SEED", "0"))
    rng, account = random.Random(seed), _Account()
    shared_before = set(Path("/dev/shm").iterdir())
    with tempfile.TemporaryDirectory(prefix="killing-") as folder:
        ground = _Ground.make(Path(folder))
        while account.kills.total() < wanted:
            _one_run(ground, rng, account, wanted)
            account.runs += 1
            print(f"{account.runs} runs, {account.kills.total()} kills, {len(account.faults)} faults", flush=True)
        _check_what_is_left(ground, account, shared_before)
    killed = ", ".join(f"{count} × {what}" for what, count in sorted(account.kills.items()))
    print(f"seed {seed}: {killed}, in {account.runs} runs; {account.condemned} condemned; {len(account.faults)} faults")
    for fault in account.faults:
        print(f"  {fault}")
    sys.exit(1 if account.faults else 0)


def _one_run(ground: _Ground, rng: random.Random, account: _Account, wanted: int) -> None:
    """Started, killed and resumed until it has been killed often enough, and then to its end."""
    process = ground.start("tune", str(ground.kernel), "--evaluations", str(_EVALUATIONS), "--seed", str(rng.randrange(1000)))
    began, left = time.time(), min(_KILLS_OF_A_RUN, wanted - account.kills.total())
    while left > 0 and process.poll() is None:
        what = rng.choice(("tuner", *_WORKERS))
        while what != "tuner" and process.poll() is None and not ground.workers(what):
            time.sleep(0.02)
        moment = time.monotonic() + rng.uniform(0.0, _LONGEST_S if what == "tuner" else _LONGEST_WORKING_S)
        while time.monotonic() < moment and process.poll() is None:
            time.sleep(0.005)
        known = ground.evaluated()
        if not _killed(ground, process, what, rng):
            continue
        account.kills[what] += 1
        left -= 1
        if what == "tuner":
            process.communicate()
            _check_killed(ground, account, known)
            if not ground.evaluated() and not _has_run(ground, began):  # it had not begun one yet
                process = ground.start("tune", str(ground.kernel), "--evaluations", str(_EVALUATIONS))
            else:
                process = ground.start("resume", "last")
    out, err = process.communicate(timeout=600)
    if process.returncode != 0:
        account.faults.append(f"exit {process.returncode}: {err.strip().splitlines()[-1:]}")
        return
    _check_finished(ground, account, json.loads(out))


def _killed(ground: _Ground, tuner: subprocess.Popen[str], what: str, rng: random.Random) -> bool:
    """False where there is no such process now."""
    if what == "tuner":
        tuner.kill()
        return tuner.wait() == -signal.SIGKILL
    there = ground.workers(what)
    with suppress(ProcessLookupError):
        if there:
            os.kill(rng.choice(there), signal.SIGKILL)
            return True
    return False


def _check_killed(ground: _Ground, account: _Account, known: int) -> None:
    deadline = time.monotonic() + 20
    while left := ground.processes():
        if time.monotonic() > deadline:
            account.faults.append(f"outlived the tuner: {sorted(left.values())}")
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            break
        time.sleep(0.02)
    if ground.evaluated() < known:
        account.faults.append(f"{known} evaluations were on record, {ground.evaluated()} are")


def _has_run(ground: _Ground, since: float) -> bool:
    process = ground.start("show")
    out, _ = process.communicate(timeout=120)
    return any(run["created_at"] >= since for run in json.loads(out)["runs"])


def _check_finished(ground: _Ground, account: _Account, result: dict[str, Any]) -> None:
    shown = ground.show()
    evaluations = shown["evaluation_list"]
    configurations = [json.dumps(entry["config"], sort_keys=True) for entry in evaluations]
    if len(set(configurations)) != len(configurations) or len(configurations) != _EVALUATIONS:
        account.faults.append(f"{len(set(configurations))} different configurations of {len(configurations)} evaluated")
    condemned = [entry for entry in evaluations if entry["outcome"] != "Measured"]
    account.condemned += len(condemned)
    account.faults += [f"{entry['config']}: {entry['outcome']}, {entry['summary']}" for entry in condemned]
    if shown["status"] != "finished" or not result["general"]:
        account.faults.append(f"the run is {shown['status']}")


def _check_what_is_left(ground: _Ground, account: _Account, shared_before: set[Path]) -> None:
    if left := ground.processes():
        account.faults.append(f"processes left: {sorted(left.values())}")
    if shared := set(Path("/dev/shm").iterdir()) - shared_before:
        account.faults.append(f"shared memory left: {sorted(map(str, shared))}")
    time.sleep(_FRESH_S)
    ground.start("devices").communicate(timeout=120)  # the next process that starts a worker sweeps
    if folders := sorted(file.name for file in ground.scratch.iterdir()):
        account.faults.append(f"scratch folders left: {folders}")


def _processes() -> Iterator[tuple[int, str, bytes]]:
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            yield int(place.name), command, (place / "environ").read_bytes()


if __name__ == "__main__":
    main()
