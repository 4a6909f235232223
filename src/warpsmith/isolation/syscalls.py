"""System calls refused to a confined worker, with reasons: numbers only. `seccomp` builds the filter.

A deny-list, because GPU drivers and language runtimes use far more calls than can be tried on one machine. But calls newer than
this list are refused too (`NEWEST_KNOWN`), so new kernels do not widen it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Numbers: TypeAlias = Mapping[str, tuple[int | None, int | None]]
"""On x86-64 and on AArch64; None where there is no such call."""

MACHINES = ("x86_64", "aarch64")
AUDIT_ARCHITECTURES = (0xC000003E, 0xC00000B7)
NEWEST_KNOWN = 471  # Linux 6.19

# fmt: off
ABSENT: Numbers = {  # answered with ENOSYS: libraries then take the older way, which the filter can look into
    "clone3": (435, 435), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_setup": (206, 0),  # all users together have a limited number of these
}

OTHER_PROCESSES: Numbers = {  # looking into, slowing down or leaving the reach of other processes of the same user
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "kcmp": (312, 272), "pidfd_getfd": (438, 438), "perf_event_open": (298, 241),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274), "migrate_pages": (256, 238), "move_pages": (279, 239), "setsid": (112, 157),
    "setpgid": (109, 154),
}

FILE_ATTRIBUTES: Numbers = {  # Landlock leaves modes, owners, times and watching to us
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "setxattrat": (463, 463), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "removexattrat": (466, 466), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "file_setattr": (469, 469), "inotify_init": (253, None),
    "inotify_init1": (294, 26), "fanotify_init": (300, 262), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
}

SHARED_OBJECTS: Numbers = {  # memory, queues and keys that all processes of a user share by name
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
}

SYSTEM: Numbers = {  # mounts, namespaces, modules, clocks: mostly root's, and wide doors into the kernel
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "move_mount": (429, 429),
    "open_tree": (428, 428), "open_tree_attr": (467, 467), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "unshare": (272, 97), "setns": (308, 268),
    "bpf": (321, 280), "userfaultfd": (323, 282), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162), "syslog": (103, 116), "vhangup": (153, 58), "iopl": (172, None),
    "ioperm": (173, None), "personality": (135, 92), "modify_ldt": (154, None), "uselib": (134, None), "memfd_secret": (447, 447),
}

# Also refuses sockets in the file system, which Landlock does not cover. Answered with ENOENT, as if nobody served: NVIDIA's
# driver looks for the multi-process service, and takes any other error for a broken service.
NETWORK: Numbers = {"connect": (42, 203)}
SOCKETS: Numbers = {"socket": (41, 198), "socketpair": (53, 199)}
LIMITS: Numbers = {"prlimit64": (302, 261)}
CORES: Numbers = {"sched_setaffinity": (203, 122)}
FCNTL: Numbers = {"fcntl": (72, 25)}
FCNTL_REFUSED = {  # signals to a process of one's choice, and holding up those who open a file
    "F_SETOWN": 8, "F_SETSIG": 10, "F_SETOWN_EX": 15, "F_SETLEASE": 1024, "F_NOTIFY": 1026,
}
IOCTL: Numbers = {"ioctl": (16, 29)}
IOCTL_REFUSED = {"FIOSETOWN": 0x8901, "SIOCSPGRP": 0x8902}  # as F_SETOWN
MEMORY_FILES: Numbers = {"memfd_create": (319, 279)}  # memory that no limit counts
TRUNCATE: Numbers = {"truncate": (76, 45)}
CLONE: Numbers = {"clone": (56, 220)}
PROCESSES: Numbers = {"fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281)}
SIGNALS: Numbers = {
    "kill": (62, 129), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
}
SIGNALS_BY_THREAD: Numbers = {"tkill": (200, 130), "pidfd_send_signal": (424, 424)}
# fmt: on
