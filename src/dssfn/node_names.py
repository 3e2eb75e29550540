"""The rule for the name of a node.

A name stands in the plan, in certificates as a DNS name, and as the name of a folder.
One rule serves all three: what a host may be called, in lower case.
"""

from __future__ import annotations

import re

from dssfn.errors import PlanError

LONGEST_NAME = 200

_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")


def is_node_name(name: str) -> bool:
    """Return whether a node may have this name.

    >>> is_node_name("north.example.org"), is_node_name("*.example.org")
    (True, False)
    """
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None


def check_node_name(what: str, name: str) -> None:
    """Refuse a name that no node may have.

    Parameters
    ----------
    what : str
        Where the name was given, for the message.
    name : str
        The name to check.
    """
    if not is_node_name(name):
        shown = repr(name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "..")
        raise PlanError(
            f"{what} must consist of lower-case letters, digits, '-' and '.', like a "
            f"host name; got {shown}. Choose another name."
        )
