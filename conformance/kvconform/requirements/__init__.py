"""The requirement catalogue: every statement of the specification that something is judged by.

One TOML file an area; this module loads them, and says whether a requirement applies to an
implementation. Ids are stable: ``ids.txt`` is the list that must never lose one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, cast

from kvconform_reference.dialect import PARAMETERS, Dialect

from ..implementation import FEATURES, Capabilities, Info

AREAS = ("GS", "HD", "QP", "TH", "MQ", "CT", "IT", "PR", "ST", "NX", "PS", "RF", "QC", "AQ", "KC")
"""The areas in the order of the specification."""

KINDS = ("resolve", "quantize", "cache", "container", "iterate", "generate")
LAYERS = ("plain", "chunked", "rotating", "quantized", "recurrent", "composite")


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One statement of the specification.

    ``needs`` lists what an implementation must declare: ``kind:`` scenario kinds, ``feature:`` and ``layer:``
    names, alternatives separated by ``|``. ``dialects`` restricts it to some values of dialect parameters.
    ``implied_by`` names requirements whose failure it follows from; ``covered_by`` says who looks after what
    a scenario cannot express.
    """

    id: str
    area: str
    statement: str
    tier: Literal["universal", "dialect"]
    level: Literal["must", "should"] = "must"
    needs: tuple[str, ...] = ()
    dialects: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])
    implied_by: tuple[str, ...] = ()
    covered_by: str | None = None

    @property
    def number(self) -> int:
        """The number behind the area: 12 for MQ-12."""
        return int(self.id.partition("-")[2])


@cache
def catalogue() -> Mapping[str, Requirement]:
    """Every requirement by id, in the order of the specification."""
    return MappingProxyType(
        {requirement.id: requirement for area in AREAS for requirement in _load(area)[1]},
    )


@cache
def area_titles() -> Mapping[str, str]:
    """The title of each area, in order."""
    return MappingProxyType({area: _load(area)[0] for area in AREAS})


def committed_ids() -> tuple[str, ...]:
    """The ids that exist for good (``ids.txt``)."""
    return tuple(_text("ids.txt").split())


def applies(requirement: Requirement, info: Info, dialect: Dialect) -> str | None:
    """Why ``requirement`` is not put to this implementation, or ``None`` when it is."""
    return missing(requirement.needs, info.capabilities) or outside(requirement.dialects, dialect)


def missing(needs: Iterable[str], capabilities: Capabilities) -> str | None:
    """The first need that the capabilities do not meet, as a reason; ``None`` when all are met."""
    for need in needs:
        alternatives = need.split("|")
        if not any(_declared(alternative, capabilities) for alternative in alternatives):
            return "not declared: " + " or ".join(
                alternative.replace(":", " ") for alternative in alternatives
            )
    return None


def _declared(need: str, capabilities: Capabilities) -> bool:
    sort, _, name = need.partition(":")
    return (
        name
        in {"kind": capabilities.kinds, "feature": capabilities.features, "layer": capabilities.layers}[sort]
    )


def outside(dialects: Mapping[str, tuple[Any, ...]], dialect: Dialect) -> str | None:
    """The first dialect parameter that has none of the values asked for, as a reason."""
    for parameter, values in dialects.items():
        declared = getattr(dialect, parameter)
        if declared not in values:
            return f"dialect: {parameter} is {declared}; this is about {' or '.join(map(str, values))}"
    return None


def _text(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def _load(area: str) -> tuple[str, tuple[Requirement, ...]]:
    data = tomllib.loads(_text(f"{area}.toml"))
    if data.pop("area") != area:
        raise ValueError(f"requirements/{area}.toml: its area is not {area}")
    title = data.pop("title")
    return title, tuple(_requirement(area, name, entry) for name, entry in data.items())


def _requirement(area: str, name: str, entry: dict[str, Any]) -> Requirement:
    fields: dict[str, Any] = {field: _frozen(value) for field, value in entry.items()}
    requirement = Requirement(id=name, area=area, **fields)
    _check(requirement)
    return requirement


def _frozen(value: object) -> object:
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return MappingProxyType({key: _frozen(item) for key, item in items})
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def _check(requirement: Requirement) -> None:
    """A typing mistake in a TOML file must not silently switch a requirement off."""
    known = {"kind": KINDS, "feature": FEATURES, "layer": LAYERS}
    for alternative in (a for need in requirement.needs for a in need.split("|")):
        sort, _, name = alternative.partition(":")
        if name not in known.get(sort, ()):
            raise ValueError(f"{requirement.id}: need {alternative!r} is not known")
    for parameter, values in requirement.dialects.items():
        if not set(values) <= set(PARAMETERS.get(parameter, ())):
            raise ValueError(f"{requirement.id}: dialects {parameter} = {values} is not in the dialect table")
    if requirement.tier not in ("universal", "dialect") or requirement.level not in ("must", "should"):
        raise ValueError(
            f"{requirement.id}: tier {requirement.tier!r} or level {requirement.level!r} is not known"
        )
