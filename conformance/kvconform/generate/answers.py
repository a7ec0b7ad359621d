"""`generate` scenarios for the two implementations that answer them: model loaded by name, then run.

Importing this module imports no MLX.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..implementation import Unsupported
from ..models.errors import ModelError
from ..models.load import load_model
from ..observation import GenerateObservation
from ..scenario import GenerateScenario

if TYPE_CHECKING:
    from kvconform_reference.dialect import Dialect

    from ..models.loaded import LoadedModel


def can_run() -> bool:
    """Whether real models can be run here: MLX and mlx-lm are installed. Imports neither."""
    return all(find_spec(package) is not None for package in ("mlx", "mlx_lm"))


def by_reference(scenario: GenerateScenario, dialect: Dialect) -> GenerateObservation:
    """What the reference answers in this dialect; *unsupported* when the model cannot be loaded."""
    loaded = loaded_model(scenario)
    from . import reference_run

    return reference_run.run(scenario, loaded, dialect=dialect)


def by_mlx_lm(scenario: GenerateScenario) -> GenerateObservation:
    """What mlx-lm's ``generate_step`` answers; *unsupported* when the model cannot be loaded."""
    loaded = loaded_model(scenario)
    from . import mlx_lm_run

    return mlx_lm_run.run(scenario, loaded)


def loaded_model(scenario: GenerateScenario) -> LoadedModel:
    """The scenario's model; a model that is not there says nothing about an implementation."""
    try:
        return load_model(scenario.model)
    except ModelError as error:
        raise Unsupported(str(error)) from error
