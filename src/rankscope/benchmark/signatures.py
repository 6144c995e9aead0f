"""Signatures of experiments, made and checked by OpenSSH's ``ssh-keygen``.

The manifest is signed, which holds the hashes of all other files; the signature is a file beside
it. Whoever has an SSH key needs nothing else.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from rankscope.benchmark.folders import MANIFEST, inside
from rankscope.errors import InputError
from rankscope.files import read_bytes, replacing

SIGNATURE = f"{MANIFEST}.sig"
"""The file of a signature."""

NAMESPACE = "rankscope"
"""What signatures are for: one made for another purpose, such as a commit, does not count."""

_ANYONE = "signer"
_WAIT = 120
"""Seconds that the user may take to type a passphrase."""


def sign(folder: Path, key: Path) -> Path:
    """Sign an experiment's manifest with a private key (or the public one of an agent's key).

    Raises:
        InputError: there is no such key or program, or it refuses.
    """
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder}: not an experiment, {MANIFEST} is missing; name a folder that "
            "'rankscope benchmark run' wrote"
        )
    if not key.is_file():
        raise InputError(f"{key}: file not found; name an SSH key, such as ~/.ssh/id_ed25519")
    manifest = read_bytes(inside(folder, MANIFEST))
    command = ["-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(key)]
    done = _ssh_keygen(command, manifest)
    if done.returncode:
        raise InputError(f"{key}: ssh-keygen could not sign with it ({_reason(done)})")
    target = folder / SIGNATURE
    with replacing(target) as sink:
        sink.write(done.stdout)
    return target


def signed_by(folder: Path, key: Path) -> tuple[str | None, str]:
    """Return who signed an experiment, and what is wrong with the signature ('' if nothing).

    ``key`` is an SSH public key, or a file of allowed signers (see ``ssh-keygen(1)``).
    """
    if not key.is_file():
        raise InputError(f"{key}: file not found; name an SSH public key or allowed signers")
    if not (folder / SIGNATURE).is_file():
        return None, f"{SIGNATURE} is missing: nobody signed it"
    signature = inside(folder, SIGNATURE)
    manifest = read_bytes(inside(folder, MANIFEST))
    with TemporaryDirectory(prefix="rankscope-") as temporary:
        allowed = Path(temporary) / "allowed_signers"
        allowed.write_bytes(_allowed(read_bytes(key), key))
        known = _ssh_keygen(
            ["-Y", "find-principals", "-s", str(signature), "-f", str(allowed)], manifest
        )
        names = known.stdout.decode("utf-8", "replace").split()
        if known.returncode or not names:
            return None, f"was not made by a key of {key.name}"
        arguments = ["-Y", "verify", "-n", NAMESPACE, "-s", str(signature), "-f", str(allowed)]
        checked = _ssh_keygen([*arguments, "-I", names[0]], manifest)
    if checked.returncode:
        return None, "does not fit: the manifest was changed after it was signed"
    name = key.stem if names[0] == _ANYONE else names[0]
    return name, ""


def _allowed(content: bytes, key: Path) -> bytes:
    """Return a file of allowed signers; a public key alone becomes one."""
    words = content.split(None, 1)
    if words and words[0].startswith((b"ssh-", b"ecdsa-", b"sk-")):
        return _ANYONE.encode() + b" " + content
    if b"PRIVATE KEY" in content:
        raise InputError(
            f"{key}: a private key; name the public one that belongs to it, {key.name}.pub"
        )
    return content


def _ssh_keygen(arguments: list[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise InputError("ssh-keygen is not installed; it comes with OpenSSH")
    try:
        return subprocess.run(
            [program, *arguments], input=content, capture_output=True, timeout=_WAIT, check=False
        )
    except subprocess.TimeoutExpired:
        raise InputError("ssh-keygen did not answer; is it waiting for a passphrase?") from None


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    return " ".join(done.stderr.decode("utf-8", "replace").split()) or f"exit {done.returncode}"
