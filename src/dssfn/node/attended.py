"""The last epoch that a node took part in, written down before it takes part.

A process that was killed must not take part in an epoch again that it may have sent
letters of; see `dssfn.transports.roll_call`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from dssfn._atomic import write_atomically
from dssfn.errors import DataError

ATTENDED_FILE = "attended.json"


class Attended(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a node has come, as others may rely on it.

    Parameters
    ----------
    epoch : int
        The last epoch that it took part in; 0 if there is none.
    is_done : bool
        Whether its model is finished, as all of its group have said.
    """

    epoch: int = 0
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class AttendedFile:
    """The file in which a node writes that down."""

    path: Path

    def read(self) -> Attended:
        """Return what was written last."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Attended)
        except FileNotFoundError:
            return Attended()
        except (msgspec.MsgspecError, UnicodeDecodeError) as exc:
            raise DataError(
                f"`{self.path}` must hold the number of the last attempt that this "
                f'node took part in, but cannot be read ({exc}). Write {{"epoch": N}} '
                "into it, with N at least as high as the number of any attempt in the "
                "logs of all nodes."
            ) from exc

    def write(self, epoch: int, *, is_done: bool | None = None) -> None:
        """Write an epoch down, so that it survives whatever happens.

        Parameters
        ----------
        epoch : int
            The epoch.
        is_done : bool, optional
            Whether the model is finished; by default as it was: who takes part once
            more, to hand its model over, has it still.
        """
        if is_done is None:
            is_done = self.read().is_done
        content = msgspec.json.encode(Attended(epoch, is_done))
        write_atomically(self.path, content, private=True)

    def forget_model(self) -> None:
        """Note that the model is not finished any more; epochs are never forgotten."""
        if self.path.exists():
            self.write(self.read().epoch, is_done=False)
