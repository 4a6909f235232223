"""What code that means harm would try, tried: each attempt is refused, and what a compiler needs is not."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from hostile_worker import Try

from warpsmith.core.errors import InputError, UnavailableError
from warpsmith.isolation import landlock
from warpsmith.isolation.confinement import confine, confinement_report, require_confinement
from warpsmith.isolation.policy import Policy
from warpsmith.isolation.process import WorkerProcess, WorkerTimedOut
from warpsmith.settings import Confinement

HERE = Path(__file__).parent
REFUSED = {"EACCES", "EPERM"}

pytestmark = pytest.mark.skipif(not confinement_report().is_complete, reason="this system cannot confine")


class Ground:
    """Files on both sides of the fence."""

    def __init__(self, folder: Path) -> None:
        self.kernel = folder / "kernel"
        self.kernel.mkdir()
        self.header = self.kernel / "header.h"
        self.hidden = self.kernel / ".env"
        self.secret = folder / "secret.txt"
        for file in (self.header, self.hidden, self.secret):
            file.write_text("key=1234")
        self.shared = self.kernel / "shared.h"
        (folder / "shared.h").write_text("int shared;")
        self.shared.symlink_to(folder / "shared.h")


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    return Ground(tmp_path_factory.mktemp("ground"))


def start(ground: Ground, *, may_start_processes: bool, drives_gpu: bool = False) -> WorkerProcess:
    environment = {"PYTHONPATH": str(HERE)}
    options = {"memory_bytes": 1 << 30, "memory_by_addresses": not drives_gpu, "environment": environment}
    return WorkerProcess("hostile_worker", folders=[ground.kernel], may_start_processes=may_start_processes, **options)


@pytest.fixture(scope="module")
def attempt(ground):
    """As a measuring worker is started."""
    with start(ground, may_start_processes=False) as worker:
        yield lambda what, target="": worker.call(Try(what, str(target)), deadline_s=60)[0]


@pytest.fixture(scope="module")
def compiler(ground):
    """As a compile worker is started."""
    with start(ground, may_start_processes=True) as worker:
        yield lambda what, target="": worker.call(Try(what, str(target)), deadline_s=60)[0]


def test_reading(attempt, ground):
    assert attempt("read", ground.header) == "done"
    assert attempt("read", ground.shared) == "done"  # the user's own link
    assert attempt("read", ground.hidden) == "EACCES"
    assert attempt("read", ground.secret) == "EACCES"
    assert attempt("read", ground.kernel / ".." / "secret.txt") == "EACCES"
    assert attempt("read", "/etc/passwd") == "EACCES"
    assert attempt("list", Path.home()) == "EACCES"
    assert attempt("read in a thread", ground.secret) == "EACCES"
    assert attempt("read through a link", ground.secret) == "EACCES"
    assert attempt("link", ground.secret) in {"EACCES", "EXDEV"}


def test_writing(attempt, ground):
    assert attempt("create", ground.kernel / "new.h") == "EACCES"
    for what in ("append", "empty by name", "empty while reading", "remove", "rename", "change mode", "change times"):
        assert attempt(what, ground.header) in REFUSED, what
    assert ground.header.read_text() == "key=1234"


@pytest.mark.parametrize("file", ["environ", "mem", "maps", "root/etc/passwd", "cwd/pyproject.toml", "fd", "cmdline"])
def test_looking_into_the_tuner(attempt, file):
    target = f"/proc/{os.getpid()}/{file}"
    assert attempt("list" if file == "fd" else "read", target) in REFUSED


@pytest.mark.parametrize(
    "what",
    [
        "signal", "signal by descriptor", "trace", "limit", "slow down", "schedule it", "choose its cores", "own a pipe",
        "own a pipe by structure", "signal by a pipe",
    ],
)  # fmt: skip
def test_touching_the_tuner(attempt, what):
    cores = os.sched_getaffinity(0)
    assert attempt(what, os.getpid()) == "EPERM"
    assert os.sched_getaffinity(0) == cores


def test_cores(attempt, compiler):
    """A runtime pins its own threads, by number too; a thread of the tuner's is not its own, nor one of a neighbour's."""
    for what in ("choose own cores", "choose own cores by number", "choose the cores of an own thread"):
        assert attempt(what) == "done", what
        assert compiler(what) == "done", what
    assert compiler("choose its cores in a child", os.getpid()) == "EPERM"
    with subprocess.Popen(["sleep", "1000"]) as neighbour:
        assert attempt("choose its cores", neighbour.pid) == "EPERM"
        neighbour.kill()


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("hoard memory in files", {"EPERM"}), ("hoard secret memory", {"EPERM"}), ("hoard shared memory", {"ENOMEM"}),
        ("hoard in /dev/shm", REFUSED), ("queue what all share", {"ENOSYS"}),
        ("spare itself from the lack of memory", REFUSED), ("spare itself by number", REFUSED),
    ],
)  # fmt: skip
def test_memory_beyond_the_limit(attempt, what, answer):
    assert attempt(what) in answer


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None, reason="only root can be another user")
def test_all_of_it_as_another_user(tmp_path_factory):
    """With root's right to read files, for the interpreter may lie where only root finds it."""
    folder = tmp_path_factory.mktemp("another")
    folder.chmod(0o777)
    rights = (
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=+dac_read_search",
        "--ambient-caps=+dac_read_search",
    )
    tests = (str(Path(__file__)), "-k", "tuner or cores or beyond or held_up or privileges")
    command = [
        "setpriv",
        *rights,
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--basetemp={folder / 'b'}",
        *tests,
    ]
    environment = {**os.environ, "HOME": str(folder), "TMPDIR": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def test_where_landlock_has_no_signal_scope():
    """As on Linux before 6.12: signals to others are refused by the filter of system calls alone."""
    script = """
        import fcntl, os, socket, struct
        from warpsmith.isolation import capabilities, seccomp, syscalls
        capabilities.give_up_privileges()
        seccomp.install(seccomp.Leave(start_processes=True, connect=False, make_memory_files=False, signals_scoped=False))
        sock, _ = socket.socketpair()
        os.kill(os.getpid(), 0)
        tuner = struct.pack("i", os.getppid())
        attempts = [lambda: os.kill(os.getppid(), 0), lambda: fcntl.fcntl(sock, fcntl.F_SETOWN, os.getppid())]
        attempts += [lambda what=what: fcntl.ioctl(sock, what, tuner) for what in syscalls.IOCTL_REFUSED.values()]
        for attempt in attempts:
            try:
                attempt()
            except PermissionError:
                print("refused")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused"] * 4


def test_nobody_who_opens_a_file_is_held_up(attempt, ground):
    assert attempt("hold up who opens it", ground.header) == "EPERM"


def test_memory_files_are_for_drivers_of_gpus(ground):
    """Their workers are not limited by addresses, so this is as far as their limit goes."""
    with WorkerProcess(
        "hostile_worker", memory_bytes=1 << 30, memory_by_addresses=False, environment={"PYTHONPATH": str(HERE)}
    ) as worker:
        assert worker.call(Try("hoard memory in files"), deadline_s=60)[0] == "done"


def test_network(attempt, tmp_path):
    with (
        contextlib.closing(socket.create_server(("127.0.0.1", 0))) as tcp,
        contextlib.closing(socket.socket(socket.AF_UNIX)) as named,
        contextlib.closing(socket.socket(socket.AF_UNIX)) as abstract,
        contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as log,
    ):
        port = tcp.getsockname()[1]
        named.bind(str(tmp_path / "socket"))
        log.bind(str(tmp_path / "log"))
        abstract.bind("\0warpsmith-test")
        named.listen()
        abstract.listen()
        for what in ("tcp", "tcp6", "udp"):
            assert attempt(what, port) == "EACCES", what
        assert attempt("unix", tmp_path / "socket") == "ENOENT"
        assert attempt("unix datagram", tmp_path / "log") == "EACCES"
        assert attempt("abstract", "warpsmith-test") == "ENOENT"
        assert attempt("netlink") == "EACCES"


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("fork", "EPERM"), ("spawn", "EPERM"), ("exec", "EPERM"), ("leave the session", "EPERM"), ("namespace", "EPERM"),
        ("chroot", "EPERM"), ("mount", "EPERM"), ("io_uring", "ENOSYS"), ("a call from the future", "ENOSYS"),
    ],
)  # fmt: skip
def test_ways_out(attempt, ground, what, answer):
    assert attempt(what, ground.kernel) == answer


def test_a_worker_with_a_gpu_may_name_its_threads_and_nobody_elses(attempt, ground):
    assert attempt("name a thread") == "EACCES"
    with start(ground, may_start_processes=False, drives_gpu=True) as worker:
        assert worker.call(Try("name a thread"), deadline_s=60)[0] == "done"
        assert worker.call(Try("name a thread", str(os.getpid())), deadline_s=60)[0] == "EACCES"


def test_privileges_are_gone(attempt):
    status = dict(line.split(":\t", 1) for line in attempt("status").splitlines() if ":\t" in line)
    assert int(status["CapEff"], 16) & ~0b100 == 0  # all but CAP_DAC_READ_SEARCH
    assert int(status["CapBnd"], 16) & ~0b100 == 0 or os.getuid() != 0
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_compilers_start_but_inherit_all_of_it(compiler, ground):
    assert compiler("read in a child", ground.header) == "done"
    assert compiler("read in a child", ground.secret) == "EACCES"
    assert compiler("namespace") == "EPERM"


def test_the_scratch_folder_is_the_home_and_goes_with_the_worker(ground):
    with start(ground, may_start_processes=False) as worker:
        note = worker._scratch.folder / "note"
        assert worker.call(Try("create", str(note)), deadline_s=60)[0] == "done"
        assert note.read_text() == "x"
    assert not worker._scratch.folder.exists()


def test_many_processes_end_with_the_worker(ground):
    with start(ground, may_start_processes=True) as worker, pytest.raises(WorkerTimedOut):
        worker.call(Try("leave the group"), deadline_s=0.5)
    end = time.monotonic() + 60
    while alive := children_of(worker):
        assert time.monotonic() < end, alive
        time.sleep(0.01)


def children_of(worker: WorkerProcess) -> list[str]:
    """By the scratch folder in their environment, wherever they went; what is dead and not collected yet has none."""
    mark = f"TMPDIR={worker._scratch.folder}".encode()
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in file.read_bytes():
                found.append(str(file))
    return found


def test_a_system_that_cannot(monkeypatch):
    require_confinement()
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    assert not confinement_report().is_complete
    with pytest.raises(UnavailableError, match="Landlock") as caught:
        require_confinement()
    assert "WARPSMITH_CONFINEMENT=best-effort" in (caught.value.hint or "")
    monkeypatch.setenv("WARPSMITH_CONFINEMENT", "best-effort")
    require_confinement()
    monkeypatch.setenv("WARPSMITH_CONFINEMENT", "of")
    with pytest.raises(InputError, match="'of'"):
        confinement_report()


def test_switched_off(monkeypatch, ground):
    monkeypatch.setenv("WARPSMITH_CONFINEMENT", "off")
    assert confinement_report().setting is Confinement.OFF
    assert not confinement_report().is_complete
    with start(ground, may_start_processes=False) as worker:
        assert worker.call(Try("read", str(ground.secret)), deadline_s=60)[0] == "done"


def test_it_is_refused_once_there_are_threads():
    """Landlock would hold for one of them only."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with pytest.raises(RuntimeError, match="a single thread"):
            confine(Policy(Path.home(), Path(), (), may_start_processes=False))
    finally:
        done.set()
        thread.join()
