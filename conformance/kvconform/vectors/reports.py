"""Public reports of bugs in quantized KV caches and token iterators, and what covers the kind of each.

Vectors name the reports they cover (``reports`` of a source); the requirements here are those whose
generated checks cover the rest of the kind. ``docs/reports.md`` is made of both.
"""

from __future__ import annotations

from dataclasses import dataclass

BATCHES = "batches: no scenario kind has more than one sequence"
ATTENTION = "attention: no scenario computes attention scores"
SPECULATIVE = "speculative decoding: no scenario has a draft model"
SERVER = "servers and their stores: a scenario ends with its caches"


@dataclass(frozen=True, kw_only=True)
class Report:
    """One public report: where, which kind of bug, what goes wrong in a sentence of our own."""

    label: str
    """Its number here; the catalogue of faults refers to it."""
    url: str
    """Empty for a find of our own."""
    kind: str
    fault: str
    requirements: tuple[str, ...] = ()
    """Requirements whose generated checks cover the kind."""
    not_covered: str = ""
    """What of it no scenario can express yet, with its kind; empty when all of it is covered."""


def _report(
    label: str, url: str, kind: str, fault: str, requirements: str = "", not_covered: str = ""
) -> Report:
    return Report(
        label=label,
        url=url,
        kind=kind,
        fault=fault,
        requirements=tuple(requirements.split()),
        not_covered=not_covered,
    )


_GITHUB = "https://github.com/"
_ALL = (
    # ---------------------------------------------------------------- who sees the conversion
    _report(
        "B01",
        f"{_GITHUB}ml-explore/mlx-swift-lm/issues/312",
        "holders",
        "The iterator converts layers of its own list; a session that kept the list goes on with old ones.",
        "CT-2 CT-3 RF-1 RF-2",
    ),
    _report(
        "B02",
        f"{_GITHUB}ml-explore/mlx-swift-lm/issues/81",
        "holders",
        "Whoever keeps a prompt cache for reuse keeps it unquantized, also when start 0 converts at once.",
        "CT-2 CT-3 RF-1",
    ),
    # ---------------------------------------------------------------- group size
    _report(
        "B04",
        f"{_GITHUB}Blaizzy/mlx-vlm/issues/2061",
        "group size",
        "Head dim 96 with the default group size of 64 ends in an error of the quantizer.",
        "GS-3 GS-5 MQ-5 MQ-17",
    ),
    _report(
        "B05",
        f"{_GITHUB}raullenchai/Rapid-MLX/issues/1294",
        "group size",
        "One way into the conversion resolves the group size, another hands it on as it came.",
        "GS-3 GS-5 MQ-5",
    ),
    _report(
        "B06",
        f"{_GITHUB}ggml-org/llama.cpp/issues/13121",
        "group size",
        "Head dim 80 fits no block size, and an assertion ends the process.",
        "GS-2 MQ-3 MQ-9 MQ-17",
    ),
    _report(
        "B07",
        f"{_GITHUB}ml-explore/mlx-swift-lm/pull/451",
        "kinds of layers",
        "Unusable sizes, rotating layers and damaged files trap where an error could be caught.",
        "MQ-13 MQ-14 MQ-17 QC-5",
        "damaged files: a scenario saves and loads, it does not tamper in between",
    ),
    # ---------------------------------------------------------------- when it happens
    _report(
        "B09",
        f"{_GITHUB}lmstudio-ai/mlx-engine/issues/82",
        "when to convert",
        "The conversion waits for the first decoded token, so a long prompt is held in full precision.",
        "PR-7 ST-2",
    ),
    _report(
        "B10",
        f"{_GITHUB}Blaizzy/mlx-vlm/pull/1582",
        "when to convert",
        "Everything is quantized from the first token on, whatever the start says.",
        "TH-1 MQ-2 CT-8",
        BATCHES,
    ),
    _report(
        "B12",
        f"{_GITHUB}ml-explore/mlx-swift-examples/pull/334",
        "rule of the trigger",
        "Layer 0 alone decides, and only once it is past the start: later designs look at other layers.",
        "TH-1 TH-4 MQ-7",
    ),
    _report(
        "B14",
        f"{_GITHUB}ml-explore/mlx-swift-lm/pull/487",
        "positions",
        "The position is read off the first layer, which in a hybrid model is recurrent and never advances.",
        "NX-3 IT-7 TH-5",
    ),
    # ---------------------------------------------------------------- kinds of layers
    _report(
        "B15",
        f"{_GITHUB}ml-explore/mlx-lm/issues/477",
        "kinds of layers",
        "The loop reads an offset from recurrent layers, which have none, and every request fails.",
        "HD-3 MQ-3 MQ-17 TH-5",
    ),
    _report(
        "B16",
        f"{_GITHUB}ml-explore/mlx-lm/issues/1573",
        "kinds of layers",
        "A rotating layer offers a conversion that only raises, at the step that reaches the start.",
        "MQ-11 MQ-13 MQ-17",
    ),
    _report(
        "B17",
        f"{_GITHUB}scouzi1966/maclocal-api/issues/96",
        "kinds of layers",
        "Five rotating layers before each full one, and asking for 4 bits takes the server down.",
        "MQ-3 MQ-11 MQ-17",
    ),
    _report(
        "B18",
        f"{_GITHUB}ml-explore/mlx-lm/issues/1583",
        "batches",
        "The batch generator has no way to quantize; its rotating cache raises when asked.",
        "",
        BATCHES,
    ),
    _report(
        "B19",
        f"{_GITHUB}raullenchai/Rapid-MLX/issues/1196",
        "options without effect",
        "The option is read and reported, but only stored prefixes shrink and the live cache does not.",
        "MQ-5 ST-2",
        SERVER,
    ),
    _report(
        "B21",
        f"{_GITHUB}Blaizzy/mlx-vlm/issues/1333",
        "options without effect",
        "Part of a model's path decides whether its cache is quantized.",
        "",
        "model names: scenarios describe layers, so there is no name to depend on",
    ),
    _report(
        "B23",
        f"{_GITHUB}ml-explore/mlx-lm/pull/1584",
        "composites",
        "Attention caches inside a composite stay full precision, because only the wrapper is looked at.",
        "MQ-10",
    ),
    # ---------------------------------------------------------------- attention over packed keys
    _report(
        "B24",
        f"{_GITHUB}Blaizzy/mlx-vlm/issues/1481",
        "attention",
        "The mask of a sliding window takes its length from the keys, which are a triple once quantized.",
        "QC-1",
        ATTENTION,
    ),
    _report(
        "B25",
        f"{_GITHUB}Blaizzy/mlx-vlm/issues/2060",
        "attention",
        "Soft-capped grouped attention repeats the keys as one array and fails on packed ones.",
        "",
        ATTENTION,
    ),
    _report(
        "B27",
        f"{_GITHUB}ml-explore/mlx-swift-examples/issues/378",
        "attention",
        "Attention writes to a converted layer as to a plain one, which stops the program a token later.",
        "QC-2 ST-3",
        ATTENTION,
    ),
    _report(
        "B28",
        f"{_GITHUB}ekryski/mlx-swift-lm/issues/201",
        "shared keys",
        "Layers that borrow keys of another layer read a field that is not filled after its conversion.",
        "",
        ATTENTION,
    ),
    _report(
        "B30",
        f"{_GITHUB}ml-explore/mlx-lm/pull/1323",
        "latent attention",
        "A compressed latent in an ordinary cache is quantized, and the model's arithmetic breaks.",
        "",
        ATTENTION,
    ),
    _report(
        "B31",
        f"{_GITHUB}ml-explore/mlx-lm/pull/1322",
        "attention masks",
        "A padding mask lacks the axis of the query groups, and the addition fails.",
        "",
        BATCHES,
    ),
    _report(
        "B33",
        f"{_GITHUB}janhq/jan/pull/7541",
        "attention",
        "A model with attention sinks cannot read a quantized cache, and generation fails after set-up.",
        "",
        ATTENTION,
    ),
    # ---------------------------------------------------------------- saved state
    _report(
        "B34",
        f"{_GITHUB}scouzi1966/maclocal-api/issues/46",
        "saved state",
        "The state that is stored lacks the offset, and the next append to the restored layer crashes.",
        "QC-5 KC-6",
    ),
    _report(
        "B36",
        f"{_GITHUB}waybarrios/vllm-mlx/issues/443",
        "saved state",
        "The wrapper of quantized prefixes has no state to take out, and nothing is written.",
        "QC-5 KC-6",
    ),
    _report(
        "B37",
        f"{_GITHUB}ml-explore/mlx-lm/issues/80",
        "saved state",
        "Loading looks a class up by its name, and one kind of cache is not in the table.",
        "KC-6",
    ),
    _report(
        "B39",
        f"{_GITHUB}raullenchai/Rapid-MLX/issues/198",
        "settings of a saved cache",
        "What was stored under one setting is used under another.",
        "MQ-12 QC-5",
        SERVER,
    ),
    _report(
        "B41",
        f"{_GITHUB}ggml-org/llama.cpp/pull/28498",
        "settings of a saved cache",
        "A saved state does not say how its values were transformed before they were quantized.",
        "",
        "headers of saved files: a design's own format is not looked into",
    ),
    # ---------------------------------------------------------------- trims, lengths
    _report(
        "B42",
        f"{_GITHUB}ml-explore/mlx-lm/issues/1494",
        "trim",
        "A trim lowers a counter, the rows come back with the next append; a list answers for layer 0 only.",
        "KC-1 KC-3 QC-4",
    ),
    _report(
        "B43",
        f"{_GITHUB}ml-explore/mlx-swift-lm/pull/173",
        "trim",
        "Trimming a list trims its first layer.",
        "RF-3 KC-1",
    ),
    _report(
        "B45",
        f"{_GITHUB}huggingface/transformers/pull/45510",
        "trim",
        "Cropping and reordering touch the recent rows and leave the quantized ones.",
        "QC-4 RF-3",
        BATCHES,
    ),
    _report(
        "B46",
        f"{_GITHUB}nicedreamzapp/claude-code-local/pull/47",
        "trim",
        "The amount to trim comes from the buffer's length instead of the offset and is never positive.",
        "QC-4 KC-1",
    ),
    _report(
        "B48",
        f"{_GITHUB}NVIDIA/kvpress/issues/27",
        "lengths",
        "The length of a quantized cache is wrong after a turn, and the next turn fails.",
        "QC-10 NX-3 RF-1",
    ),
    _report(
        "B49",
        f"{_GITHUB}ml-explore/mlx-swift-lm/issues/424",
        "speculative decoding",
        "Rejected tokens stay in a window that has wrapped, since it cannot be trimmed and nobody looks.",
        "KC-2",
        SPECULATIVE,
    ),
    # ---------------------------------------------------------------- sliding windows
    _report(
        "B51",
        f"{_GITHUB}ml-explore/mlx-lm/issues/1914",
        "sliding windows",
        "Several rows at once are said to let a window grow for ever; it shows max + m - 1 rows and no more.",
        "KC-2",
    ),
    _report(
        "B52",
        f"{_GITHUB}lmstudio-ai/mlx-engine/pull/78",
        "sliding windows",
        "Windows are given up for plain caches in order to quantize, and memory grows without bound.",
        "MQ-3 MQ-11 KC-2",
    ),
    # ---------------------------------------------------------------- the iterator
    _report(
        "B54",
        f"{_GITHUB}ml-explore/mlx-lm/issues/226",
        "lookahead",
        "One more model call is made than there are tokens to return; a design must say whether it does.",
        "NX-1 NX-2 NX-3",
    ),
    _report(
        "B55",
        f"{_GITHUB}EricLBuehler/mistral.rs/issues/1539",
        "limits",
        "The limit is tested after the token was added, so one too many comes out.",
        "NX-1 NX-5",
    ),
    _report(
        "B57",
        f"{_GITHUB}ml-explore/mlx-lm/issues/1773",
        "history of processors",
        "Logits processors see the last prompt token only; what was prefilled is missing.",
        "PR-1 PS-3",
    ),
    _report(
        "B59",
        f"{_GITHUB}ml-explore/mlx-swift-lm/issues/336",
        "prefill",
        "The prefill step is accepted and ignored; the prompt goes through in one call.",
        "PR-2 PR-6",
    ),
    # ---------------------------------------------------------------- batches
    _report(
        "B61",
        f"{_GITHUB}Blaizzy/mlx-vlm/issues/1206",
        "batches",
        "An array of offsets reaches a mask helper that wants one number.",
        "",
        BATCHES,
    ),
    _report(
        "B62",
        f"{_GITHUB}lablup/mlxcel/issues/75",
        "batches",
        "The mask is made from offsets, which are negative in padded rows, instead of the rows stored.",
        "",
        BATCHES,
    ),
    _report(
        "B64",
        f"{_GITHUB}scouzi1966/maclocal-api/issues/92",
        "batches",
        "After a padded merge all sequences share one position, and the shorter ones are off.",
        "",
        BATCHES,
    ),
    _report(
        "B65",
        f"{_GITHUB}ml-explore/mlx-lm/issues/983",
        "batches",
        "Merging a wrapped window with a short one takes the ring's cursor for a length.",
        "KC-2",
        BATCHES,
    ),
    _report(
        "B66",
        f"{_GITHUB}ml-explore/mlx-lm/pull/1100",
        "batches",
        "An offset that was read before an append changes with it, because it is updated in place.",
        "",
        BATCHES,
    ),
    # ---------------------------------------------------------------- accounting
    _report(
        "B67",
        f"{_GITHUB}lmstudio-ai/lmstudio-bug-tracker/issues/1849",
        "accounting",
        "Asking a quantized layer for its bytes raises, and with it every request.",
        "QC-10",
    ),
    _report(
        "B68",
        f"{_GITHUB}Pushkinist/rMLX/pull/37",
        "accounting",
        "The bytes of the cache are always reported as 0.",
        "QC-8 QC-10",
    ),
    _report(
        "B69",
        f"{_GITHUB}withcatai/node-llama-cpp/pull/608",
        "accounting",
        "An estimate takes bytes a block for bytes an element and is far too high.",
        "QC-8",
        "estimates made before there is a cache",
    ),
    _report(
        "B70",
        f"{_GITHUB}ml-explore/mlx-lm/issues/1587",
        "memory peaks",
        "Attention over a quantized cache needs more memory in a long prefill than over a plain one.",
        "",
        ATTENTION,
    ),
    # ---------------------------------------------------------------- numbers
    _report(
        "B72",
        f"{_GITHUB}raullenchai/Rapid-MLX/pull/2234",
        "kernels",
        "On a GPU, decoding a view of a larger buffer gives other values than decoding a copy of it.",
        "AQ-1 QC-2",
        "kernels of one backend: dequantization is not a scenario, and it takes that GPU to see it",
    ),
    _report(
        "B74",
        f"{_GITHUB}vllm-project/vllm/pull/38479",
        "bit widths",
        "A kernel takes any width but computes with one; 3 bits give garbage without a word.",
        "AQ-1 QC-3 QC-6 MQ-14",
    ),
    _report(
        "B75",
        f"{_GITHUB}sgl-project/sglang/issues/26734",
        "head dims",
        "Buffers of the values are as wide as the keys.",
        "QC-7 GS-6 HD-1",
    ),
    # ---------------------------------------------------------------- designs
    _report(
        "B78",
        f"{_GITHUB}ggml-org/llama.cpp/issues/11200",
        "speculative decoding",
        "Two programs give the draft's cache different types from the same options.",
        "",
        SPECULATIVE,
    ),
    _report(
        "B80",
        f"{_GITHUB}huggingface/transformers/issues/34189",
        "residuals",
        "The newest rows are quantized too, where the paper keeps them; here every row is coded at once.",
        "QC-2 MQ-5",
    ),
)


_FINDS = tuple(
    _report(label, "", "finds of our own", fault, requirements, not_covered)
    for label, fault, requirements, not_covered in (
        (
            "O1",
            "Speculative decoding converts slices of the caller's list, and the caller keeps old layers.",
            "CT-3 RF-2",
            SPECULATIVE,
        ),
        (
            "O2",
            "A quantized cache filled from empty has too narrow a buffer at 3, 5 and 6 bits.",
            "QC-3 QC-6",
            "",
        ),
        ("O3", "The byte count of an empty quantized cache raises.", "QC-10", ""),
        ("O4", "A trim of a negative number is accepted and moves the offset up.", "QC-4 KC-1", ""),
        (
            "O5",
            "After a pass that failed the list stays half converted, and a retry goes on there.",
            "MQ-13",
            "",
        ),
        (
            "O6",
            "A saved cache of one version does not load in the next and does not say why.",
            "",
            "saved files of other versions: a scenario loads what it saved itself",
        ),
        (
            "O7",
            "Whether a list can be trimmed is asked once, before a window wraps; later trims do nothing.",
            "KC-2",
            SPECULATIVE,
        ),
        (
            "O8",
            "Other bits or another group size on a quantized layer change nothing and say nothing.",
            "MQ-12",
            "",
        ),
        (
            "O9",
            "A NaN in a group vanishes, an infinity turns the whole group into NaN.",
            "",
            "values that are not finite: what they become is documented, not compared",
        ),
        (
            "O10",
            "Bad bits or group sizes are noticed at the first conversion, in mid-stream.",
            "MQ-0 MQ-14",
            "",
        ),
    )
)


def _key(report: Report) -> str:
    """``mlx-lm#477``: repository and number; a find of our own by its label."""
    if not report.url:
        return report.label
    parts = report.url.split("/")
    return f"{parts[-3]}#{parts[-1]}"


def _keyed() -> dict[str, Report]:
    """By repository and number; a fork has its owner in front, so that keys stay unique."""
    keyed: dict[str, Report] = {}
    for report in (*_ALL, *_FINDS):
        key = _key(report)
        keyed[f"{report.url.split('/')[3]}/{key}" if key in keyed else key] = report
    return keyed


REPORTS = _keyed()
"""Every report by its short name."""
