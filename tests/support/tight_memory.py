"""How much memory a few lines of Python need, measured in a process of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

needs_rlimit = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the limit is set as Linux has it"
)

_BELT = 3000  # MB above the start, beyond which nothing is given: others work here too

# A process starts with the peak of the one that started it: a shell has a low one.
_SHELL = ["sh", "-c", '"$@"; exit $?', "sh"]

_FRAME = """
import gc, resource, sys
from pathlib import Path
{imports}
pages = int(Path("/proc/self/statm").read_text().split()[0])
belt = pages * resource.getpagesize() + {belt} * 10**6
resource.setrlimit(resource.RLIMIT_AS, (belt, belt))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
said = []
for call in {calls!r}:
    try:
        eval(call)
    except Exception as exc:
        said.append(type(exc).__name__ + ": " + str(exc))
    else:
        said.append("nothing")
    gc.collect()  # an error holds what its functions held
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) // 1000)
for one in said:
    print(one)
"""


def refusal(imports: str, call: str, *paths: Path, most: int = 200) -> str:
    """What is said to a call that must be refused within `most` megabytes.

    Parameters
    ----------
    imports : str
        Lines that come first, whose memory does not count.
    call : str
        An expression; `sys.argv[1]`, .. are the paths.
    """
    (said,) = refusals(imports, [call], *paths, most=most)
    return said


def refusals(
    imports: str, calls: Sequence[str], *paths: Path, most: int = 200
) -> list[str]:
    """What is said to each of several calls, in one process and as in `refusal`."""
    code = _FRAME.format(
        imports=textwrap.dedent(imports), belt=_BELT, calls=list(calls)
    )
    done = subprocess.run(
        [*_SHELL, sys.executable, "-c", code, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    grown, *said = done.stdout.splitlines()
    assert int(grown) < most, f"{grown} MB: {said}"
    assert len(said) == len(calls), said
    return said
