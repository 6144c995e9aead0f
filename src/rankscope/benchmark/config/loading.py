"""Reading a config: file, settings and variables in, checked models out.

Whatever is wrong is one sentence with file, line and the path of keys, or with the setting.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankscope.benchmark.config.model import Config
from rankscope.benchmark.config.overrides import Origins, apply_overrides
from rankscope.benchmark.config.rag_spec import BLOCK, with_block_of_file
from rankscope.benchmark.config.secrets import Secrets, find_secrets
from rankscope.benchmark.config.sections import read_section
from rankscope.benchmark.config.syntax import ConfigFile, dotted, read_config_file
from rankscope.benchmark.config.system_specs import check_specs
from rankscope.files import PathLike
from rankscope.retrieval.llm.llm_judge import JudgeOptions
from rankscope.retrieval.options import Reading, SpecError, read_options


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A config that was read and checked.

    ``folder`` is where its relative paths start, and ``overrides`` what was set from outside, by
    dotted key.
    """

    config: Config
    folder: Path
    overrides: dict[str, Any]
    secrets: Secrets

    def plain(self) -> dict[str, Any]:
        """Return the whole config, defaults included, ready for JSON; secrets are ``${NAME}``."""
        return self.config.model_dump(mode="json")

    @property
    def sha256(self) -> str:
        """The hash of what the config says, whatever the file looks like."""
        return config_hash(self.plain())

    def systems(self) -> dict[str, Any]:
        """Return the specs of the systems by name, with secrets in them: not to be recorded."""
        specs: dict[str, Any] = self.secrets.expand(self.config.systems)
        return specs


def config_hash(plain: Mapping[str, Any]) -> str:
    """Return the hash of a config as plain data."""
    text = json.dumps(
        plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def loaded_config(config: PathLike | LoadedConfig, settings: Sequence[str]) -> LoadedConfig:
    """Return a config, which is read if it is not yet."""
    if isinstance(config, LoadedConfig):
        return config
    return read_config(config, settings=settings)


def read_config(
    path: PathLike,
    *,
    settings: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> LoadedConfig:
    """Read and check the config of a benchmark.

    ``settings`` are those of ``--set``, such as ``depth=50``; secrets are looked up in
    ``environment`` (None: that of the process).

    Raises:
        InputError: what is wrong, in one sentence, with file and line or the setting.
    """
    environment = os.environ if environment is None else environment
    origins = Origins(read_config_file(path))
    folder = Path.cwd() if os.fspath(path) == "-" else Path(path).absolute().parent
    data = with_block_of_file(apply_overrides(origins, settings), folder)
    if set(origins.file.data) == {BLOCK}:  # the rest is in settings
        data.setdefault("name", Path(path).name.partition(".")[0])
    secrets = find_secrets(data, environment, origins)
    try:
        config = read_section(Config, data)
        check_specs(config.systems, {name: point.of for name, point in config.swept.items()})
    except SpecError as error:
        raise origins.error(error) from None
    return LoadedConfig(
        config=config,
        folder=folder,
        overrides={dotted(override.keys): override.value for override in origins.overrides},
        secrets=secrets,
    )


# --- a language model that judges -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LlmConfig:
    """Options that were read and checked; ``folder`` is where relative paths start."""

    options: JudgeOptions
    folder: Path
    secrets: Secrets


def read_llm_config(
    path: PathLike | None,
    *,
    settings: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> LlmConfig:
    """Read the options of a model that judges; ``${NAME}`` is a variable of the environment.

    Without a file, all of them are settings, such as ``model=small``.

    Raises:
        InputError: what is wrong, in one sentence, with file and line or the setting.
    """
    environment = os.environ if environment is None else environment
    file = ConfigFile({}, "--set") if path is None else read_config_file(path)
    origins = Origins(file)
    data = apply_overrides(origins, settings)
    secrets = find_secrets(data, environment, origins, section=None)
    try:
        read_options(JudgeOptions, data, Reading(unexpanded=True, as_written=True))
        options = read_options(JudgeOptions, secrets.expand(data))
    except SpecError as error:
        raise origins.error(error) from None
    is_file = path is not None and os.fspath(path) != "-"
    folder = Path(path).absolute().parent if is_file and path is not None else Path.cwd()
    return LlmConfig(options, folder, secrets)
