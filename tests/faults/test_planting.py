"""How faults are planted: in force while a scenario runs, and gone without a trace afterwards."""

from __future__ import annotations

from inspect import getattr_static
from types import SimpleNamespace

import pytest
from kvconform.faults import Fault, FaultyImplementation, catalogued, faulty
from kvconform.faults.planting import Stand, planted, replaced, wrapped
from kvconform.implementation import Crash, StartFailed
from kvconform.implementations import reference
from kvconform.implementations.registry import resolve_implementation
from kvconform.observation import ResolveObservation
from kvconform.samples import SAMPLES
from kvconform.scenario import ContainerScenario, PassStep, PlainLayer, ResolveScenario
from kvconform_reference import group_size

TIE = ResolveScenario(requested=48, key_dim=128, value_dim=128)


def _seams() -> dict[tuple[int, str], object]:
    patches = [patch for fault in catalogued().values() for patch in fault.patches]
    return {(id(patch.owner), patch.name): vars(patch.owner).get(patch.name) for patch in patches}


class _Base:
    LIMIT = 3

    def plain(self, one: int) -> int:
        return one + self.LIMIT

    @property
    def half(self) -> float:
        return self.LIMIT / 2

    @classmethod
    def named(cls) -> str:
        return cls.__name__

    @staticmethod
    def fixed() -> int:
        return 1


class _Child(_Base):
    pass


@pytest.mark.parametrize(
    ("patch", "ask", "before", "during"),
    [
        (wrapped(_Base, "plain", lambda was, own, one: was(own, one) * 2), lambda: _Base().plain(1), 4, 8),
        (wrapped(_Base, "half", lambda was, own: was(own) + 1), lambda: _Base().half, 1.5, 2.5),
        (wrapped(_Base, "named", lambda was, cls: was(cls) + "!"), _Child.named, "_Child", "_Child!"),
        (wrapped(_Base, "fixed", lambda was: was() + 1), _Base.fixed, 1, 2),
        (replaced(_Base, "LIMIT", 10), lambda: _Base().plain(0), 3, 10),
        (wrapped(_Child, "plain", lambda was, own, one: -was(own, one)), lambda: _Child().plain(1), 4, -4),
    ],
    ids=["method", "property", "class-method", "static-method", "constant", "inherited"],
)
def test_a_seam_of_every_sort_is_changed_and_put_back(
    patch: object, ask: object, before: object, during: object
) -> None:
    own = dict(vars(_Base)), dict(vars(_Child))
    asked = {_Child.named: lambda: _Child.named(), _Base.fixed: lambda: _Base.fixed()}.get(ask, ask)  # pyright: ignore
    assert asked() == before  # pyright: ignore
    with planted([patch]):  # pyright: ignore
        assert asked() == during  # pyright: ignore
    assert asked() == before  # pyright: ignore
    assert (dict(vars(_Base)), dict(vars(_Child))) == own


def test_what_a_subclass_inherits_is_inherited_again() -> None:
    with planted([wrapped(_Child, "plain", lambda _was, _own, _one: 0)]):
        assert "plain" in vars(_Child)
        assert _Base().plain(1) == 4
    assert "plain" not in vars(_Child)


def test_two_patches_of_one_seam_come_off_in_reverse() -> None:
    twice = [wrapped(_Base, "plain", lambda was, own, one: was(own, one) * 2)] * 2
    with planted(twice):
        assert _Base().plain(1) == 16
    assert _Base().plain(1) == 4


def test_no_fault_leaves_anything_behind() -> None:
    before = _seams()
    for name in catalogued():
        implementation = faulty(name)
        for scenario in SAMPLES.values():
            try:
                implementation.run(scenario)
            except Exception:  # a fault may well raise
                continue
    assert _seams() == before


def test_a_fault_is_gone_after_an_exception() -> None:
    def raising(_original: object, *_asked: object) -> None:
        raise RuntimeError("planted")

    fault = Fault(
        name="raises",
        does="It raises.",
        breaks=("GS-3",),
        seen="here",
        patches=(wrapped(group_size, "nearest_group_size", raising),),
    )
    before = getattr_static(group_size, "nearest_group_size")
    with pytest.raises(RuntimeError, match="planted"):
        FaultyImplementation(fault).run(TIE)
    assert getattr_static(group_size, "nearest_group_size") is before


def test_the_reference_beside_a_fault_is_unharmed() -> None:
    wrong, right = faulty("tie-goes-high"), reference.factory()
    assert wrong.run(TIE) == ResolveObservation(group_size=64)
    assert right.run(TIE) == ResolveObservation(group_size=32)
    assert wrong.run(TIE) == ResolveObservation(group_size=64)


def test_a_fault_of_the_declaration_declares_one_dialect_and_follows_another() -> None:
    made = faulty("follows-resolver-exact")
    assert made.info.dialect == "proposal"
    assert made.run(TIE) == ResolveObservation(group_size=None)


def test_the_death_of_a_process_is_a_crash_with_its_signal() -> None:
    zero = ContainerScenario(
        layers=(PlainLayer(length=1),), form="free", steps=(PassStep(bits=4, group_size=0),)
    )
    with pytest.raises(Crash) as died:
        faulty("group-size-zero-kills").run(zero)
    assert died.value.signal == "SIGFPE"


def test_a_fault_is_an_implementation_by_name() -> None:
    assert resolve_implementation("fault:tie-goes-high")().info.name == "fault:tie-goes-high"
    there = resolve_implementation("fault:tie-goes-high@mlx-swift-lm")()
    assert there.info.dialect == "mlx-swift-lm"


@pytest.mark.parametrize("spec", ["fault:nothing-like-it", "fault:tie-goes-high@no-dialect"])
def test_a_wrong_fault_or_dialect_is_a_failed_start(spec: str) -> None:
    with pytest.raises(StartFailed, match="is not known"):
        resolve_implementation(spec)()


def test_a_stand_answers_itself_and_passes_on_the_rest() -> None:
    behind = SimpleNamespace(one=1, two=2)
    stand = Stand(behind, one=11)
    assert (stand.one, stand.two) == (11, 2)
    assert Stand(lambda number: number + 1)(1) == 2
