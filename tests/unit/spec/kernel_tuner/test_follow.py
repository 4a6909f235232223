"""Following statements gives the names what running them would: each snippet is run here, and only here."""

# ruff: noqa: E501 - snippets in strings

from __future__ import annotations

import ast
import os
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from warpsmith.spec.kernel_tuner.python.follow import ScriptFollower
from warpsmith.spec.kernel_tuner.python.values import (
    Dotted,
    FilePath,
    Listed,
    Nothing,
    ScriptArray,
    ScriptFunction,
    ScriptNumber,
    ScriptTable,
    SourceText,
    Unknown,
)

FILE = "/somewhere/scripts/tune.py"
SNIPPETS = [
    "a, b = 1, 2\n[c, d] = [a, b]\nx = c + d",
    "x = [1]\ny = x\ny.append(2)\ny += [3]\nx.extend((4, 5))\nx[0] = 9",
    "t = {'a': [1]}\nt['b'] = [2, 3]\nt.update({'c': [4]}, d=[5])\nt |= {'e': 6}\ndel t['a']\nx = [k for k in t]\ny = list(t.values())",
    "t = dict(a=1)\nt.update([('b', 2)])\nx = t['a'] + t.get('b') + t.get('z', 3)\ny = t.pop('a')\nz = [k + str(v) for k, v in t.items()]",
    "t = {**{'a': 1}, 'b': 2} | {'c': 3}\nx = sorted([t[k] for k in t.keys()])\nu = t.copy()\nu['a'] = 5\ny = t['a']",
    "from collections import OrderedDict\nt = OrderedDict([('a', [1, 2])])\nx = t['a'][-1]\ny = 'a' in t",
    "def f(n, m=3, *rest, k=1, **more):\n    if n > 5:\n        return n\n    return n * m + k + len(rest)\nx = [f(1), f(9), f(2, 2, 8, 8, k=4, z=0)]",
    "def f():\n    pass\nx = 1 if f() is None else 2",
    "g = lambda a, b=2: a * b\nx = g(4)\ny = (lambda: 5)()",
    "if __name__ == '__main__':\n    x = 1\nelse:\n    x = 2",
    "n = 5\nn += 3\nn <<= 1\nx = n\ny = -n\nz = +n\nw = ~0 if False else 7",
    "x = []\nfor i in []:\n    x = [1]\ny: int = 4\nz: int",
    "try:\n    x = 1\nexcept ValueError:\n    x = 2\nelse:\n    y = 3\nfinally:\n    z = 4",
    "x = 'a,b'.split(',')\ny = '-'.join(x).upper().replace('A', 'c').strip()\nz = 'k%s.cu' % 'x' + f'{1}'",
    "x = [0] * 3 + [1, 2, 3, 4][::2]\ny = (1, 2) + (3,)\nz = [5, 6, 7][1:]",
    "x = (1 and 2) or 3\ny = 0 or []\nz = not x\nw = '' or 'd'",
    "x = abs(-3) + pow(2, 3) + int('12') + round_up if False else 1\ny = float(3)\nz = str(4)\nw = bool_ if False else 0",
    "import math as m\nx = [m.ceil(7 / 2), m.floor(7 / 2), int(7 / 2), int(m.log2(8)), m.prod([2, 3])]",
    "x = min(3, 1, 2)\ny = max([3, 1], )\nz = len('abc') + len({'a': 1})",
    "x = (y := 3) + 1",
    "e = ''\nx = e\ny = e + 'a' + str('')\nz = {'k': ''}.get('k', 'd')",
    "import os\nx = os.path.join(os.path.dirname(__file__), 'k.cu')\ny = os.path.basename(__file__)",
    "from pathlib import Path\nx = Path(__file__).parent / 'a' / Path('k.cu')\ny = str(Path(__file__).with_name('k.cl'))\nz = Path('a', 'b').joinpath('c')",
    "import numpy as np\na = np.zeros((4, 8), np.float32)\nx = [a.size, a.nbytes, a.itemsize, len(a), a.shape[1], a.T.shape[0]]",
    "import numpy as np\na = np.ones(8)\nb = np.zeros(a.shape, dtype=a.dtype)\nb.fill(1)\nx = np.empty_like(b).astype(np.dtype('int32')).ravel()",
    "import numpy as np\nx = np.float32([1, 2, 3])\ny = np.int32(7) // 2 * 3\nz = np.int32(7) / 2\nw = np.prod((2, 3, 4))",
    "from numpy import *\nx = 1",
]  # fmt: skip


def plain(value: object) -> object:  # noqa: PLR0911
    match value:
        case ScriptNumber(value=number):
            return number
        case Listed(items=items):
            return [plain(item) for item in items]
        case ScriptTable(entries=entries):
            return {key: plain(entry) for key, entry in entries.items()}
        case FilePath(text=text):
            return text
        case Nothing():
            return None
        case ScriptArray(dtype=dtype, shape=shape):
            return (None if dtype is None else dtype.numpy, tuple(extent.value for extent in shape))
        case _:
            return value


def real(value: object) -> object:
    match value:
        case np.ndarray():
            return (value.dtype, value.shape)
        case np.generic():
            return value.item()
        case list() | tuple():
            return [real(item) for item in value]
        case dict() | OrderedDict():
            return {key: real(entry) for key, entry in value.items()}
        case Path():
            return os.fspath(value)
        case _:
            return value


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_names_are_what_python_makes_them(snippet: str):
    expected: dict[str, object] = {"__name__": "__main__", "__file__": FILE}
    exec(snippet, expected)
    found = ScriptFollower(ast.parse(snippet), FILE).globals.names
    for name in {"x", "y", "z", "w", "t"} & expected.keys():
        assert plain(found[name]) == real(expected[name]), name


@pytest.mark.parametrize(
    ("snippet", "expected"),
    [
        ("import sys\nif len(sys.argv) > 1:\n    x = int(sys.argv[1])\nelse:\n    x = 4", 4),
        ("if unknown:\n    x = 1\nelse:\n    x = unknown", 1),
        ("def f():\n    if unknown:\n        return 1\n    return 2\nx = f()", 2),
        ("for i in [3, 4]:\n    x = i", 3),
        ("while unknown:\n    x = 1", 1),
        ("with open('k.cu') as f:\n    x = f.read()", SourceText("k.cu")),
        ("from pathlib import Path\nx = Path('k.cl').read_text()", SourceText("k.cl")),
        ("import numpy\nx = numpy.random", Dotted("numpy.random")),
    ],
)
def test_what_only_a_run_knows_has_a_guess(snippet: str, expected: object):
    assert plain(ScriptFollower(ast.parse(snippet), FILE).globals.names["x"]) == expected


@pytest.mark.parametrize(
    "snippet",
    ["x = unknown.y", "x = [1, 2][5]", "a, b, x = 1, 2", "x = {'a': 1}['b']", "x = -unknown", "x = f'{1:>4}'", "x = unknown and 1",
     "x = [i for i in unknown]", "x = 1 if unknown else 2", "x = 1 < unknown", "x = [*unknown][0]", "x = 'a' * 3", "x = yield_()",
     "x = 1 @ 2", "x = 1j", "def f(n):\n    return f(n)\nx = f(1)", "x = 'a'.zfill(3)", "import numpy as np\nx = np.zeros(3)[0]",
     "def f():\n    if unknown:\n        return 1\n    else:\n        return 2\nx = f()", "x = sorted(['b', 'a'])", "x = '%q' % 1"],
)  # fmt: skip
def test_the_rest_is_unknown(snippet: str):
    assert isinstance(ScriptFollower(ast.parse(snippet), FILE).globals.names["x"], Unknown)


def test_a_function_that_nobody_calls_is_followed_too():
    script = (
        "from kernel_tuner import tune_kernel as tk\nclass A:\n    def tune(self, n=4):\n        tk('k', 's.cu', n, [], {})\n"
    )
    script += "def other(tuner):\n    tuner.tune_kernel('l', 's.cu', 5, [], {})\n"
    calls = ScriptFollower(ast.parse(script), FILE).calls
    assert {call.values["kernel_name"]: plain(call.values["problem_size"]) for call in calls} == {"k": 4, "l": 5}


def test_a_function_of_that_name_is_not_it():
    script = "import kernel_tuner\ndef tune_kernel(n):\n    kernel_tuner.tune_kernel('k', 's.cu', n, [], {})\ntune_kernel(8)\n"
    follower = ScriptFollower(ast.parse(script), FILE)
    assert [plain(call.values["problem_size"]) for call in follower.calls] == [8]
    assert isinstance(follower.globals.names["tune_kernel"], ScriptFunction)


@pytest.mark.parametrize(
    "snippet",
    [
        "x = [1, 2]\n" + "x += x\n" * 200,
        "x = [1, 2]\n" + "x = x + x\n" * 200,
        "x = 'ab'\n" + "x = x + x\n" * 200,
        "x = [0] * 10000\n" + "x = [x] * 10000\n" * 6 + "import numpy as np\nx = np.array(x)\n",
        "x = 2\n" + "x = x * x\n" * 200,
        "x = [i for i in range(20000)]\n" + "x = [i + 1 for i in x]\n" * 200,
        "def f(n):\n    return f(n) + f(n)\nx = f(1)\n",
    ],
)
def test_what_doubles_at_every_step_ends(snippet: str):
    assert ScriptFollower(ast.parse(snippet), FILE).globals.names["x"] is not None
