"""The folders of a new federation: the plan, the authority, and one for every node.

A node's folder is all that its organisation needs, beside its data. ::

    DIR/plan.toml
    DIR/ca/      ca.crt  ca.key  crl.pem   the key signs certificates: keep it secret
    DIR/NAME/    node.toml  plan.toml  node.crt  node.key  ca.crt  crl.pem

Keys are made here for rehearsals only. Else every node makes its own, and its folder
comes without `node.crt` and `node.key`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from dssfn._atomic import no_empty_folders, write_atomically
from dssfn.errors import InputError, PlanError
from dssfn.federation import Federation
from dssfn.node.spec import NODE_FILE
from dssfn.node_names import check_node_name
from dssfn.setup.pki import NODE_DAYS, issue, make_authority, sign_list
from dssfn.setup.texts import node_text, notes_text, plan_text

PLAN_FILE = "plan.toml"
CERTIFICATE_FILE, KEY_FILE = "node.crt", "node.key"
AUTHORITY_FOLDER, AUTHORITY_FILE, AUTHORITY_KEY_FILE = "ca", "ca.crt", "ca.key"
LIST_FILE = "crl.pem"
NOTES_FILE = "README.txt"


def write_federation(
    folder: str | Path,
    federation: Federation,
    *,
    left_open: Collection[str] = (),
    data: str = "data.csv",
    target: str | None = None,
    days: int = NODE_DAYS,
    with_keys: bool = True,
) -> None:
    """Write the folders of a new federation, all or nothing.

    Parameters
    ----------
    folder : str or Path
        A new or an empty folder.
    federation : Federation
        The plan.
    left_open : collection of {"classes", "feature_names"}
        The settings that the plan leaves to be filled in.
    data, target : str, optional
        The data file and the column of labels that the nodes' files name.
    days : int
        How long the nodes' certificates are valid.
    with_keys : bool
        Whether to make all nodes' keys here, to rehearse.
    """
    path = Path(folder).resolve()
    for name in federation.names:
        check_folder_name("The `name` of a node", name)
    plan = plan_text(federation, left_open=left_open).encode()
    with _new_folder(path) as made:
        label = path.name.encode(errors="replace").decode()
        authority = make_authority(f"dssfn federation {label}")
        (made / AUTHORITY_FOLDER).mkdir(mode=0o700)
        authority.write(*authority_files(made))
        nothing_revoked = sign_list(authority, [])
        write_atomically(list_file(made), nothing_revoked)
        notes = notes_text(federation.names, with_keys=with_keys)
        write_atomically(made / NOTES_FILE, notes.encode())
        write_atomically(made / PLAN_FILE, plan)
        for index, member in enumerate(federation.nodes):
            text = node_text(
                member,
                data=data,
                target=target,
                needs_target=not data.endswith(".npz"),
                peer=federation.names[index - 1],
            )
            own = made / member.name
            own.mkdir(mode=0o700)
            write_atomically(own / NODE_FILE, text.encode())
            write_atomically(own / PLAN_FILE, plan)
            write_atomically(own / AUTHORITY_FILE, authority.certificate_pem)
            write_atomically(own / LIST_FILE, nothing_revoked)
            if with_keys:
                credential = issue(authority, member.name, days=days)
                credential.write(own / CERTIFICATE_FILE, own / KEY_FILE)


def authority_files(folder: Path) -> tuple[Path, Path]:
    """Return the paths of certificate and key of a federation's own authority."""
    own = folder / AUTHORITY_FOLDER
    return own / AUTHORITY_FILE, own / AUTHORITY_KEY_FILE


def list_file(folder: Path) -> Path:
    """Return the path of a federation's list of revoked certificates."""
    return folder / AUTHORITY_FOLDER / LIST_FILE


def check_folder_name(what: str, name: str) -> None:
    """Check that a node's name can be the name of its folder."""
    check_node_name(what, name)
    if name in (AUTHORITY_FOLDER, PLAN_FILE, NOTES_FILE.lower()):
        raise PlanError(
            f"{what} must not be {name!r}, which the federation's folder uses for "
            "something else. Choose another name."
        )


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Provide a folder to fill, which then appears under its name, or not at all."""
    _check_free(path)
    with no_empty_folders(path.parent):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(".part", f".{path.name}.", path.parent))
        except OSError as exc:
            raise _unusable(path, exc) from exc
        try:
            yield made
            try:
                made.replace(path)
            except OSError as exc:
                raise _unusable(path, exc) from exc
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise


def _check_free(path: Path) -> None:
    if path == Path.cwd():
        raise InputError("`DIR` must be a new folder, not the one you are in.")
    try:
        taken = path.exists() and (not path.is_dir() or any(path.iterdir()))
    except OSError as exc:
        raise _unusable(path, exc) from exc
    if taken:
        what = "is a folder that is not empty" if path.is_dir() else "is a file"
        raise InputError(
            f"`DIR` must be a new folder, but `{path}` {what}. Nothing is ever "
            "overwritten: choose another folder, or move this one away. To replace "
            "one node's key and certificate, use `dssfn federation certificate`."
        )


def _unusable(path: Path, exc: OSError) -> InputError:
    return InputError(
        f"`DIR` must be a folder that can be created, got `{path}`: {exc.strerror}. "
        "Choose another one."
    )
