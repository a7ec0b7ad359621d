"""The container: who holds what, and the latch (section 6)."""

from __future__ import annotations

from .words import CURRENT, C, E, Q, R, S, append, container, free, mq, trim, vector

NO_LATCH = "mlx-lm mlx-lm-0.29 mlx-swift-lm-3.31.4"
OWNS = "proposal mlx-swift-lm"
"""Dialects in which the container owns the list."""

HOLDERS = (
    vector(
        "ct-built-group-ignored",
        "CT-0",
        "the group size that the container was built with wins over that of the call",
        container(S(5, 128), steps=[mq(group_size=128)], built={"bits": 4, "group_size": 32}),
        dialects=CURRENT,
    ),
    vector(
        "ct-built-odd-group",
        "CT-0",
        "a container cannot be built with a group size that no conversion would use",
        container(S(5), steps=[mq(start=5)], built={"bits": 4, "group_size": 7}),
        dialects="proposal",
    ),
    vector(
        "ct-same-objects",
        "CT-1",
        "a container copies the caches that it is given",
        container(S(5), Q(5), R(5), C(5), twin=True),
    ),
    vector(
        "ct-alias-sees-conversion",
        "CT-2 CT-3 MQ-6",
        "the conversion lands in somebody's copy, and the caller never sees what comes after it",
        container(S(6), S(6), steps=[mq(8, start=6), append(4)], built={"bits": 8}),
        dialects=CURRENT,
        reports="mlx-swift-lm#312 mlx-swift-lm#81",
    ),
    vector(
        "ct-caller-list-after-conversion",
        "CT-3 RF-2",
        "the caller's list is mutated where it must not be, or left alone where it must be updated",
        container(S(3), S(3), steps=[mq(start=1), append(2), append(1, through="caller")]),
        dialects=CURRENT,
    ),
    vector(
        "ct-caller-list-free",
        "CT-3",
        "the free pass works on a copy of the list",
        free(S(3), S(3), steps=[mq(start=1), append(2)]),
        reports="mlx-swift-lm#312",
    ),
    vector(
        "ct-model-asked-once",
        "CT-9",
        "the model is asked for a list more than once, or although one was given",
        container(S(5), steps=[mq(), append(1)], given="model"),
    ),
    vector(
        "ct-empty-list-stays-empty",
        "CT-9 MQ-1",
        "an explicitly empty list counts as none, and the model is asked",
        container(steps=[mq()]),
    ),
    vector(
        "ct-twins",
        "CT-10",
        "two containers over lists of the same objects share more than the objects",
        container(S(5), S(5), steps=[mq(), append(2)], twin=True),
        dialects=OWNS,
    ),
    vector(
        "ct-twins-caller-list",
        "CT-1 CT-2",
        "the second container is lost sight of where lists are updated in place",
        container(S(5), S(5), steps=[mq(), append(2)], twin=True),
        dialects="mlx-lm mlx-lm-0.29 mlx-lm-0.28 mlx-lm-0.26",
    ),
)

FIRST_TRIGGER = tuple(
    vector(name, ids, comment, scenario, dialects="proposal", reports=reports)
    for name, ids, comment, scenario, reports in (
        (
            "ct-disarmed-for-good",
            "CT-4 CT-7",
            "the latch opens again when a layer that was empty at the pass crosses the line",
            container(S(12), E, steps=[mq(start=10), append(20), mq(8, 32, 0)]),
            "",
        ),
        (
            "ct-never-armed-nothing-quantizable",
            "CT-4",
            "a container over layers that can never be quantized is armed, and looks at them for ever",
            container(Q(5), R(50), steps=[mq()], observe={"accesses": True}),
            "",
        ),
        (
            "ct-built-without-bits",
            "CT-5",
            "bits of the call arm a container that was built without any",
            container(S(12), steps=[mq(4, 64, 0), append(1), mq(8, 32, -1)], built={}),
            "",
        ),
        (
            "ct-call-without-bits",
            "CT-6",
            "a call without bits disarms, or the bits of construction are used instead of the call's",
            container(S(12), steps=[mq(None), mq(8, 32)], built={"bits": 4}),
            "",
        ),
        (
            "ct-hazard-all-empty",
            "CT-7",
            "a pass over empty layers at start 0 does not count as a trigger",
            container(E, E, steps=[mq(), append(5), mq()]),
            "",
        ),
        (
            "ct-hazard-empty-at-pass",
            "CT-7 MQ-8",
            "a layer that was empty when the pass ran is converted later",
            container(S(6), E, steps=[mq(start=5), append(6), mq(start=5)]),
            "",
        ),
        (
            "ct-hazard-incompatible",
            "CT-7 MQ-9",
            "a list that cannot be converted at all keeps the container armed",
            container(S(3, 80), steps=[mq(start=5), append(2), mq(start=5), append(1), mq(start=5)]),
            "llama.cpp#13121",
        ),
        (
            "ct-trim-does-not-rearm",
            "CT-4",
            "a trim to nothing opens the latch again",
            container(S(6), E, steps=[mq(start=5), trim(6), append(9), mq(start=5)]),
            "",
        ),
        (
            "ct-no-look-when-disarmed",
            "CT-11 CT-4",
            "every step after the conversion still walks through all the layers",
            container(S(6), S(6, 80), steps=[mq(start=5), mq(start=5)], observe={"accesses": True}),
            "",
        ),
    )
)

OTHER_LATCHES = (
    vector(
        "ct-armed-below-line",
        "CT-8 TH-1",
        "a pass below the line disarms",
        container(S(3), S(3), steps=[mq(start=5), append(1), mq(start=5), append(2), mq(start=5)]),
        dialects=CURRENT,
    ),
    vector(
        "ct-armed-below-far-line",
        "CT-8",
        "a pass whose start is far away disarms, as if it were never to be reached",
        container(S(3), steps=[mq(start=100_000), append(2), mq(start=4)]),
    ),
    vector(
        "ct-armed-below-line-free",
        "CT-8",
        "layers that were looked at once are not looked at again",
        free(S(3), S(3), steps=[mq(start=5), append(3), mq(start=5)]),
        dialects=CURRENT,
    ),
    vector(
        "ct-latch-second-crossing",
        "CT-12 CT-4",
        "the latch closes, or stays open, other than declared after the first conversion",
        container(S(12), E, steps=[mq(start=10), append(12), mq(8, 32, 10)]),
    ),
    vector(
        "ct-latch-settles",
        "CT-12 CT-11",
        "a container whose layers are all converted or unusable still looks at them",
        container(S(12), S(12, 80), steps=[mq(start=10), mq(start=10)], observe={"accesses": True}),
        dialects="mlx-swift-lm",
    ),
    vector(
        "ct-latch-waits-for-empty",
        "CT-12 MQ-8",
        "an empty layer does not keep the container armed",
        container(S(12), E, steps=[mq(start=10), append(11), mq(start=10), append(1), mq(start=10)]),
        dialects="mlx-swift-lm",
    ),
    vector(
        "ct-latch-first-layer",
        "CT-12 MQ-7",
        "later layers are looked at although layer 0 is quantized, which is what closes this latch",
        container(Q(12), S(12), steps=[mq(start=10), append(1), mq(start=10)]),
        dialects="mlx-lm-0.28 mlx-lm-0.26",
    ),
    vector(
        "ct-latch-none",
        "CT-12 MQ-12",
        "a design without a latch stops looking after its first conversion",
        container(S(12), S(3), steps=[mq(start=10), append(9), mq(8, 32, 10)]),
        dialects=NO_LATCH,
    ),
)

VECTORS = (*HOLDERS, *FIRST_TRIGGER, *OTHER_LATCHES)
