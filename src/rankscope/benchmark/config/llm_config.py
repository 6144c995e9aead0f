"""The config of a language model that judges: a file of options, settings, and the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankscope.benchmark.config.overrides import Origins, apply_overrides
from rankscope.benchmark.config.secrets import Secrets, find_secrets
from rankscope.benchmark.config.syntax import ConfigFile, read_config_file
from rankscope.files import PathLike
from rankscope.retrieval.llm.llm_judge import JudgeOptions
from rankscope.retrieval.options import Reading, SpecError, read_options


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
