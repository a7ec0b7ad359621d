"""The token iterator by itself: a model, a container, a processor and a sampler that write down every call.

What caches see is tested with the scripted model (``tests/test_reference_iterate.py``).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from kvconform_reference.dialect import DIALECTS, PROPOSAL, Dialect
from kvconform_reference.iterator import ModelResult, RemainingTokens, TokenIterator
from kvconform_reference.parameters import GenerateParameters
from notation import read_back

VOCAB = 50
OWN_PREFILL = Dialect(prefill="reserve-one", quantize_between_chunks=True)
Log = list[tuple[Any, ...]]


class Model:
    """The logits of a row peak at its token plus one; the state counts calls unless told otherwise."""

    def __init__(self, log: Log, *, answer: str = "tokens", layers: tuple[Any, ...] = ("layer",)) -> None:
        self.log = log
        self.answer = answer
        self.layers = layers
        self.states: dict[int, Any] = {}
        self.calls = 0

    def __call__(self, tokens: Any, *, cache: Any, state: Any) -> ModelResult:
        ((*row,),) = tokens
        self.log.append(("call", tuple(row), None if cache is None else tuple(cache), state))
        self.calls += 1
        return self.result(tuple(row), self.states.get(self.calls, f"state {self.calls}"))

    def result(self, row: tuple[int, ...], state: Any) -> ModelResult:
        return ModelResult([[peak_at((token + 1) % VOCAB) for token in row]], state)

    def prepare(self, tokens: Any, cache: Any, window: int) -> Any:
        self.log.append(("prepare", tuple(tokens), tuple(cache), window))
        if self.answer == "raise":
            raise OSError("the weights are gone")
        if self.answer == "all":
            return RemainingTokens(())
        if self.answer == "logits":
            return self.result(tuple(tokens), "prepared")
        return RemainingTokens(tokens[-2:])

    def new_cache(self, parameters: Any) -> list[Any]:
        self.log.append(("new-cache", parameters))
        return list(self.layers)


class Container:
    """Writes down the passes."""

    def __init__(self, log: Log, layers: tuple[Any, ...] = ("layer",)) -> None:
        self.log = log
        self.layers: list[Any] = list(layers)

    def maybe_quantize(self, bits: int | None, group_size: int = 64, start: int = 0) -> None:
        self.log.append(("pass", bits, group_size, start))

    def rearm(self) -> None:
        self.log.append(("rearm",))


class Processor:
    def __init__(self, log: Log, name: str = "") -> None:
        self.log = log
        self.name = name

    def prompt(self, tokens: Any) -> None:
        self.log.append((self.name + "prompt", tuple(tokens)))

    def process(self, logits: Any) -> Any:
        self.log.append((self.name + "process", logits.index(max(logits))))
        return [*logits[1:], logits[0]]  # the peak moves one down

    def did_sample(self, token: int) -> None:
        self.log.append((self.name + "did-sample", token))


class Sampler:
    def __init__(self, log: Log, name: str = "") -> None:
        self.log = log
        self.name = name

    def sample(self, logits: Any) -> int:
        token = logits.index(max(logits))
        self.log.append((self.name + "sample", token))
        return token


class Players(GenerateParameters):
    """Parameters whose own sampler and processor can be told from explicit ones."""

    log: Log

    def sampler(self) -> Any:
        return Sampler(self.log, "own ")

    def processor(self) -> Any:
        return Processor(self.log, "own ")


def peak_at(token: int) -> list[int]:
    return [-abs(token - other) for other in range(VOCAB)]


def build(log: Log, prompt: Any = (3, 4, 5), *, answer: str = "tokens", **options: Any) -> TokenIterator:
    """An iterator over a recording container, explicit processor and sampler unless the options say else."""
    options = {"container": Container(log), "processor": Processor(log), "sampler": Sampler(log), **options}
    return TokenIterator(list(prompt), Model(log, answer=answer), **options)


def drained(iterator: TokenIterator) -> list[int]:
    """The tokens up to the end, of an iterator that is to end within twenty."""
    tokens = list(islice(iterator, 20))
    assert len(tokens) < 20, "it does not end"
    return tokens


def names(log: Log) -> list[str]:
    return [event[0] for event in log]


def only(log: Log, *wanted: str) -> Log:
    return [event for event in log if event[0] in wanted]


# ---------------------------------------------------------------- IT: building


@pytest.mark.requirement("IT-0")
def test_parameters_have_their_defaults_and_an_iterator_starts_at_count_zero_without_a_state() -> None:
    parameters = GenerateParameters()
    assert parameters.max_tokens is None
    assert parameters.bits is None
    assert (parameters.group_size, parameters.start, parameters.prefill_step) == (64, 0, 512)
    log: Log = []
    iterator = build(log)
    assert iterator.count == 0
    assert only(log, "call") == [("call", (4, 5), ("layer",), None)]
    assert only(log, "prepare")[0][3] == 512
    assert only(log, "pass") == [("pass", None, 64, 0)]


@pytest.mark.requirement("IT-1")
def test_prefill_runs_in_the_constructor_and_the_error_of_prepare_reaches_the_caller() -> None:
    log: Log = []
    build(log)
    assert names(log) == ["rearm", "prompt", "prepare", "call", "pass", "process", "sample", "did-sample"]
    with pytest.raises(OSError, match="the weights are gone"):
        build([], answer="raise")


@pytest.mark.requirement("IT-2")
def test_a_given_container_is_used_as_it_is_and_no_list_is_requested() -> None:
    log: Log = []
    container = Container(log)
    assert build(log, container=container).container is container
    assert only(log, "new-cache") == []


@pytest.mark.requirement("IT-2", "CT-3")
@pytest.mark.parametrize("name", DIALECTS)
def test_a_given_list_is_wrapped_in_a_container_of_its_own(name: str) -> None:
    log: Log = []
    layers = [object(), object()]
    iterator = build(log, cache=layers, container=None, dialect=DIALECTS[name])
    assert all(a is b for a, b in zip(iterator.container.layers, layers, strict=True))
    assert (iterator.container.layers is layers) == (DIALECTS[name].owner == "caller-list")
    assert only(log, "new-cache") == []


@pytest.mark.requirement("IT-2")
def test_a_list_and_a_container_together_are_refused_before_anything_is_called() -> None:
    log: Log = []
    with pytest.raises(ValueError, match=r"a cache list and a container were both given .* give one"):
        build(log, cache=[])
    assert log == []


@pytest.mark.requirement("CT-9", "IT-2")
def test_without_a_list_the_model_is_asked_once_with_the_same_parameters() -> None:
    log: Log = []
    parameters = GenerateParameters(max_tokens=3, bits=4)
    iterator = build(log, container=None, parameters=parameters)
    assert list(iterator.container.layers) == ["layer"]
    ((_, asked_with),) = only(log, "new-cache")
    assert asked_with is parameters


@pytest.mark.requirement("IT-3")
def test_bits_group_size_and_start_of_every_pass_are_the_parameters() -> None:
    log: Log = []
    iterator = build(log, parameters=GenerateParameters(bits=8, group_size=96, start=17))
    iterator.next_token()
    assert only(log, "pass") == [("pass", 8, 96, 17)] * 2


@pytest.mark.requirement("CT-12")
def test_a_container_is_told_that_a_new_iterator_works_on_it() -> None:
    log: Log = []
    container = Container(log)
    build(log, container=container)
    build(log, container=container)
    assert names(log).count("rearm") == 2


@pytest.mark.requirement("IT-4")
def test_the_parameters_give_processor_and_sampler_when_none_is_explicit() -> None:
    log: Log = []
    parameters = Players()
    Players.log = log
    build(log, processor=None, sampler=None, parameters=parameters)
    assert names(log)[1] == "own prompt"
    assert names(log)[-3:] == ["own process", "own sample", "own did-sample"]


@pytest.mark.requirement("IT-4")
def test_an_explicit_processor_or_sampler_replaces_the_parameters_and_does_not_chain() -> None:
    log: Log = []
    Players.log = log
    build(log, parameters=Players())
    assert [name for name in names(log) if name.startswith("own")] == []
    log.clear()
    build(log, processor=None, parameters=Players())
    assert names(log)[-3:] == ["own process", "sample", "own did-sample"]


@pytest.mark.requirement("IT-5")
def test_the_sampler_first_form_has_its_own_defaults_and_asks_for_no_quantization() -> None:
    log: Log = []
    iterator = TokenIterator.with_sampler(
        [3, 4, 5], Model(log), sampler=Sampler(log), container=Container(log)
    )
    assert [iterator.next_token() for _ in range(3)] == [6, 7, 8]
    assert set(only(log, "pass")) == {("pass", None, 64, 0)}
    assert only(log, "prepare")[0][3] == 512
    assert only(log, "prompt", "process", "did-sample") == []


@pytest.mark.requirement("IT-5")
def test_the_sampler_first_form_takes_prefill_step_max_tokens_and_a_processor() -> None:
    log: Log = []
    iterator = TokenIterator.with_sampler(
        [3, 4, 5],
        Model(log),
        sampler=Sampler(log),
        processor=Processor(log),
        cache=["layer"],
        prefill_step=7,
        max_tokens=1,
    )
    assert drained(iterator) == [5]
    assert only(log, "prepare")[0][3] == 7
    assert len(only(log, "process")) == 2


@pytest.mark.requirement("IT-6")
def test_the_prompt_array_form_warns_and_equals_the_general_form_with_a_list() -> None:
    def run(form: Any) -> tuple[Log, list[int]]:
        log: Log = []
        parameters = GenerateParameters(max_tokens=3, bits=4)
        iterator = form(
            [3, 4, 5], Model(log), cache=["layer"], parameters=parameters, processor=Processor(log)
        )
        return log, drained(iterator)

    with pytest.warns(DeprecationWarning, match="from_prompt_array is deprecated; call TokenIterator"):
        old = run(TokenIterator.from_prompt_array)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(TokenIterator) == old


@pytest.mark.requirement("IT-6")
def test_the_warning_of_the_deprecated_form_points_at_its_caller() -> None:
    with pytest.warns(DeprecationWarning, match="from_prompt_array") as warned:
        TokenIterator.from_prompt_array([3, 4, 5], Model([]), cache=["layer"])
    assert [one.filename for one in warned] == [__file__]


@pytest.mark.requirement("IT-4", "IT-5")
def test_what_an_iterator_is_built_with_besides_prompt_and_model_is_named() -> None:
    with pytest.raises(TypeError, match="positional"):
        TokenIterator([3], Model([]), ["layer"])  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="positional"):
        TokenIterator.with_sampler([3], Model([]), Sampler([]))  # pyright: ignore[reportCallIssue]


# ---------------------------------------------------------------- validation


@pytest.mark.requirement("MQ-0", "MQ-14")
@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("bits", [0, 1, 7, 9, 16, -4, True])
def test_bits_that_no_conversion_supports_are_refused_before_the_model_is_touched(
    bits: int, name: str
) -> None:
    log: Log = []
    with pytest.raises(ValueError, match=f"bits {bits} are not supported"):
        build(log, container=None, parameters=GenerateParameters(bits=bits), dialect=DIALECTS[name])
    assert log == []


@pytest.mark.requirement("TH-3", "GS-9")
@pytest.mark.parametrize(
    ("options", "message"), [({"start": -1}, "start -1"), ({"group_size": 0}, "group size 0")]
)
def test_bad_start_and_group_size_are_refused_only_where_the_dialect_refuses(
    options: dict[str, int], message: str
) -> None:
    parameters = GenerateParameters(bits=4, **options)
    log: Log = []
    build(log, parameters=parameters)
    assert only(log, "pass")
    log.clear()
    with pytest.raises(ValueError, match=message):
        build(log, parameters=parameters, dialect=Dialect(bad_options="refuse"))
    assert log == []


@pytest.mark.requirement("PR-6")
@pytest.mark.parametrize("step", [0, -1])
@pytest.mark.parametrize("name", DIALECTS)
def test_a_prefill_step_below_one_is_refused_before_any_call(name: str, step: int) -> None:
    log: Log = []
    parameters = GenerateParameters(prefill_step=step)
    with pytest.raises(ValueError, match=f"prefill step {step} is below 1"):
        build(log, container=None, parameters=parameters, dialect=DIALECTS[name])
    assert log == []


# ---------------------------------------------------------------- PR: prefill


@pytest.mark.requirement("PR-1")
@pytest.mark.parametrize("answer", ["tokens", "logits"])
@pytest.mark.parametrize("dialect", [PROPOSAL, OWN_PREFILL])
def test_prompt_is_called_once_and_first_with_the_full_prompt(answer: str, dialect: Dialect) -> None:
    log: Log = []
    iterator = build(log, answer=answer, dialect=dialect)
    iterator.next_token()
    assert only(log, "prompt") == [("prompt", (3, 4, 5))]
    assert names(log)[:2] == ["rearm", "prompt"]


@pytest.mark.requirement("PR-2")
def test_prepare_gets_the_current_caches_and_the_prefill_step_as_its_window() -> None:
    log: Log = []
    build(log, container=Container(log, ("a", "b")), parameters=GenerateParameters(prefill_step=9))
    assert only(log, "prepare") == [("prepare", (3, 4, 5), ("a", "b"), 9)]


@pytest.mark.requirement("PR-3")
def test_remaining_tokens_cost_one_step_whose_token_is_returned_first() -> None:
    log: Log = []
    iterator = build(log, processor=None)
    assert only(log, "call") == [("call", (4, 5), ("layer",), None)]
    assert only(log, "sample") == [("sample", 6)]
    assert iterator.next_token() == 6


@pytest.mark.requirement("PR-4")
def test_logits_in_the_bare_path_give_the_first_token_without_call_pass_or_state() -> None:
    log: Log = []
    iterator = build(log, answer="logits", parameters=GenerateParameters(bits=4, max_tokens=1))
    assert log[3:] == [("process", 6), ("sample", 5), ("did-sample", 5)]
    assert iterator.next_token() == 5
    assert only(log, "call") == [("call", (5,), ("layer",), None)]
    assert len(only(log, "pass")) == 1


@pytest.mark.requirement("PR-4")
def test_logits_in_the_bare_path_run_no_pass_at_all_with_max_tokens_zero() -> None:
    log: Log = []
    iterator = build(log, answer="logits", parameters=GenerateParameters(bits=4, max_tokens=0))
    assert iterator.next_token() is None
    assert only(log, "pass", "call") == []


@pytest.mark.requirement("PR-4")
def test_logits_in_the_full_path_keep_the_state_and_run_the_pass() -> None:
    log: Log = []
    iterator = build(log, answer="logits", dialect=Dialect(logits_prefill="full"))
    assert names(log)[3:] == ["pass", "process", "sample", "did-sample"]
    iterator.next_token()
    assert only(log, "call") == [("call", (5,), ("layer",), "prepared")]


@pytest.mark.requirement("PR-4")
def test_logits_are_refused_where_the_dialect_has_no_such_path() -> None:
    log: Log = []
    with pytest.raises(ValueError, match=r"answered with logits, .* answer with the remaining tokens"):
        build(log, answer="logits", dialect=Dialect(logits_prefill="none"))
    assert only(log, "sample", "call") == []


@pytest.mark.requirement("PR-5")
@pytest.mark.parametrize("name", DIALECTS)
def test_an_empty_prompt_is_a_clear_error_after_prompt_and_before_sampling(name: str) -> None:
    log: Log = []
    with pytest.raises(
        ValueError, match=r"the prefill left no tokens .* give a prompt of at least one token"
    ):
        build(log, (), dialect=DIALECTS[name])
    assert only(log, "prompt") == [("prompt", ())]
    assert only(log, "call", "process", "sample", "did-sample") == []


@pytest.mark.requirement("PR-5")
def test_a_prepare_that_leaves_nothing_is_a_clear_error() -> None:
    log: Log = []
    with pytest.raises(ValueError, match="a model whose prepare leaves one"):
        build(log, answer="all")
    assert names(log) == ["rearm", "prompt", "prepare"]


@pytest.mark.requirement("PR-6", "PR-7")
@pytest.mark.parametrize(
    ("dialect", "lengths", "passes_after"),
    [
        (OWN_PREFILL, [8, 8, 6, 1], [0, 1, 2, 3]),
        (replace(OWN_PREFILL, prefill="window"), [8, 8, 7], [0, 1, 2]),
        (replace(OWN_PREFILL, prefill="balanced"), [8, 7, 7, 1], [0, 1, 2, 3]),
        (replace(OWN_PREFILL, quantize_between_chunks=False), [8, 8, 6, 1], [3]),
    ],
)
def test_an_iterator_that_feeds_the_prompt_itself_cuts_it_by_the_plan_and_passes_between_chunks(
    dialect: Dialect, lengths: list[int], passes_after: list[int]
) -> None:
    log: Log = []
    prompt = tuple(range(23))
    build(log, prompt, dialect=dialect, processor=None, parameters=GenerateParameters(prefill_step=8))
    calls = only(log, "call")
    assert [len(call[1]) for call in calls] == lengths
    assert sum((call[1] for call in calls), ()) == prompt
    assert {call[3] for call in calls} == {None}, "no state travels between chunks"
    seen = [event[0] for event in only(log, "call", "pass")]
    expected = [
        name for index in range(len(lengths)) for name in ["call", "pass"][: 1 + (index in passes_after)]
    ]
    assert seen == expected
    assert names(log).count("sample") == 1
    assert only(log, "prepare") == []


# ---------------------------------------------------------------- ST: step


@pytest.mark.requirement("ST-1", "PS-1")
@pytest.mark.parametrize(
    ("position", "order"),
    [
        ("before-processors", ["call", "pass", "process", "sample", "did-sample"]),
        ("after-processors", ["call", "process", "pass", "sample", "did-sample"]),
    ],
)
def test_a_step_runs_in_the_dialects_order(position: Any, order: list[str]) -> None:
    log: Log = []
    iterator = build(log, dialect=Dialect(pass_position=position))
    assert names(log)[3:] == order
    log.clear()
    iterator.next_token()
    assert names(log) == order


@pytest.mark.requirement("ST-3")
def test_the_model_gets_a_batch_axis_the_current_list_and_the_current_state() -> None:
    log: Log = []
    container = Container(log)
    iterator = build(log, container=container, processor=None)
    container.layers = ["other"]
    iterator.next_token()
    assert only(log, "call")[1] == ("call", (6,), ("other",), "state 1")


@pytest.mark.requirement("ST-3")
@pytest.mark.parametrize("dialect", [PROPOSAL, OWN_PREFILL])
def test_an_empty_list_is_passed_to_model_calls_as_none(dialect: Dialect) -> None:
    log: Log = []
    iterator = build(log, container=Container(log, ()), dialect=dialect)
    iterator.next_token()
    assert {call[2] for call in only(log, "call")} == {None}


@pytest.mark.requirement("ST-4")
def test_the_state_is_replaced_by_the_results_state_also_when_that_is_none() -> None:
    log: Log = []
    model = Model(log)
    model.states = {2: None}
    iterator = TokenIterator([3, 4, 5], model, container=Container(log))
    for _ in range(3):
        iterator.next_token()
    assert [call[3] for call in only(log, "call")] == [None, "state 1", None, "state 3"]


@pytest.mark.requirement("ST-5")
def test_only_the_last_positions_logits_are_used() -> None:
    log: Log = []
    assert build(log, (9, 3), processor=None).next_token() == 4


# ---------------------------------------------------------------- NX: next


@pytest.mark.requirement("NX-1", "NX-2", "NX-3", "NX-5")
@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("limit", [0, 1, 4])
def test_exactly_the_limit_comes_out_each_for_one_call_and_then_it_ends_for_ever(
    limit: int, name: str
) -> None:
    log: Log = []
    parameters = GenerateParameters(max_tokens=limit)
    iterator = build(log, parameters=parameters, processor=None, dialect=DIALECTS[name])
    before = len(only(log, "call"))
    assert drained(iterator) == list(range(6, 6 + limit))
    assert len(only(log, "call")) - before == limit
    assert len(only(log, "sample")) == limit + 1
    assert iterator.count == limit
    log.clear()
    assert [iterator.next_token() for _ in range(3)] == [None] * 3
    assert drained(iterator) == []
    assert (log, iterator.count) == ([], limit)


@pytest.mark.requirement("NX-1")
@pytest.mark.parametrize("limit", [-1, -100])
def test_a_negative_limit_gives_nothing_or_no_limit_as_the_dialect_says(limit: int) -> None:
    parameters = GenerateParameters(max_tokens=limit)
    assert build([], parameters=parameters).next_token() is None
    unlimited = build([], parameters=parameters, dialect=Dialect(negative_max_tokens="unlimited"))
    assert all(unlimited.next_token() is not None for _ in range(120))


@pytest.mark.requirement("NX-1", "NX-4")
def test_without_a_limit_it_never_ends_whatever_the_tokens() -> None:
    iterator = build([], processor=None)
    assert [next(iterator) for _ in range(120)] == [(6 + k) % VOCAB for k in range(120)]


@pytest.mark.requirement("NX-2")
def test_the_token_returned_is_the_one_sampled_a_step_earlier() -> None:
    log: Log = []
    iterator = build(log, processor=None)
    assert only(log, "sample")[-1] == ("sample", 6)
    assert iterator.next_token() == 6
    assert only(log, "call")[-1][1] == (6,)
    assert only(log, "sample")[-1] == ("sample", 7)


@pytest.mark.requirement("NX-3", "PS-1")
def test_k_tokens_take_one_more_of_process_sample_and_did_sample_each_seeing_the_other() -> None:
    log: Log = []
    iterator = build(log)
    tokens = [iterator.next_token() for _ in range(4)]
    assert [len(only(log, name)) for name in ("process", "sample", "did-sample")] == [5, 5, 5]
    assert [event[1] for event in only(log, "sample")] == [event[1] for event in only(log, "did-sample")]
    assert [event[1] for event in only(log, "sample")][:4] == tokens
    # the processor moves the peak one down, so a sampler that saw raw logits would count up
    assert tokens == [5, 5, 5, 5]


@pytest.mark.requirement("NX-5")
def test_the_count_does_not_rise_when_the_model_fails() -> None:
    iterator = build([])
    iterator.next_token()
    broken = OSError("out of memory")

    def fail(*_args: Any, **_options: Any) -> Any:
        raise broken

    iterator._model = fail  # type: ignore[assignment]
    with pytest.raises(OSError, match="out of memory"):
        iterator.next_token()
    assert iterator.count == 1


@pytest.mark.requirement("NX-5")
def test_prefill_time_covers_prepare_and_is_set_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((10.0, 32.5, 100.0, 200.0))
    monkeypatch.setattr("kvconform_reference.iterator.time.perf_counter", lambda: next(clock))
    iterator = build([])
    assert iterator.prefill_time == 22.5
    iterator.next_token()
    assert iterator.prefill_time == 22.5


@pytest.mark.requirement("NX-5")
def test_prefill_time_is_zero_until_the_prefill_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    prepare = TokenIterator._prepare

    def looking(iterator: TokenIterator, prompt: Any) -> Any:
        seen.append(iterator.prefill_time)
        return prepare(iterator, prompt)

    monkeypatch.setattr(TokenIterator, "_prepare", looking)
    build([])
    assert seen == [0]


# ---------------------------------------------------------------- dialects that were read, not written


@pytest.mark.requirement("PR-4", "PR-6", "ST-1", "NX-1")
@pytest.mark.parametrize("answer", ["tokens", "logits"])
@pytest.mark.parametrize("limit", [2, -1])
@pytest.mark.parametrize("dialect", [*DIALECTS.values(), Dialect(logits_prefill="none")])
def test_a_dialect_read_from_a_file_is_followed_as_the_one_in_the_code(
    dialect: Dialect, limit: int, answer: str
) -> None:
    def run(dialect: Dialect) -> tuple[Log, Any]:
        log: Log = []
        parameters = GenerateParameters(bits=4, max_tokens=limit)
        try:
            iterator = build(log, answer=answer, parameters=parameters, dialect=dialect)
        except ValueError as error:
            return log, str(error)
        return log, [iterator.next_token() for _ in range(4)]

    assert run(read_back(dialect)) == run(dialect)


@pytest.mark.requirement("PR-4", "PR-6")
@pytest.mark.parametrize("prefill", ["balanced", "window"])
def test_a_prepare_of_the_models_own_is_asked_unless_the_design_reserves_a_token(prefill: Any) -> None:
    log: Log = []
    build(log, dialect=Dialect(prefill=prefill))
    assert len(only(log, "prepare")) == 1
