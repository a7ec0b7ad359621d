from __future__ import annotations

from pathlib import Path

import pytest
from kvconform.errors import UserError
from kvconform.report.log import Begun, LogFollower, LogWriter, read_log
from log_samples import events, failed, header, judged, listed


def _write(path: Path, *given: object) -> Path:
    writer = LogWriter(path)
    for event in given:
        writer.write(event)
    writer.close()
    return path


def test_a_log_reads_back_as_it_was_written(tmp_path: Path) -> None:
    given = events(header(listed("MQ-1")), Begun(check="MQ-1.only"), failed("MQ-1.only"))
    log = read_log(_write(tmp_path / "log", *given))
    assert log.header == given[0]
    assert log.results == (given[2],)
    assert log.complete


def test_writing_appends_and_never_rewrites(tmp_path: Path) -> None:
    path = _write(tmp_path / "log", header(listed("MQ-1")))
    before = path.read_bytes()
    _write(path, judged("MQ-1.only"))
    assert path.read_bytes().startswith(before)
    assert len(read_log(path).results) == 1


def test_a_log_without_its_footer_is_incomplete(tmp_path: Path) -> None:
    log = read_log(_write(tmp_path / "log", header(listed("MQ-1")), judged("MQ-1.only")))
    assert not log.complete


def test_a_log_that_lost_a_result_in_the_middle_is_incomplete(tmp_path: Path) -> None:
    path = _write(tmp_path / "log", *events(header(listed("MQ-1")), judged("MQ-1.only"), judged("MQ-1.more")))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:1] + lines[2:]))
    assert not read_log(path).complete


def test_half_a_last_line_is_dropped(tmp_path: Path) -> None:
    path = _write(tmp_path / "log", header(listed("MQ-1")), judged("MQ-1.only"))
    path.write_text(path.read_text() + '{"event": "resul')
    log = read_log(path)
    assert len(log.results) == 1
    assert not log.complete


def test_what_was_being_judged_when_a_log_breaks_off_is_known(tmp_path: Path) -> None:
    given = (header(listed("MQ-1")), Begun(check="MQ-1.a"), judged("MQ-1.a"), Begun(check="MQ-1.b"))
    assert read_log(_write(tmp_path / "log", *given)).busy == ("MQ-1.b",)


@pytest.mark.parametrize(
    "content", ["", None, "nonsense\n", '{"event": "dance"}\n', '{"event": "start", "format": 2}\n']
)
def test_a_file_that_is_no_log_is_refused_with_its_line_or_has_no_verdict(
    tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "log"
    if content is None:
        with pytest.raises(UserError, match="cannot be read"):
            read_log(path)
        return
    path.write_text(content)
    if not content:
        assert not read_log(path).complete
        return
    with pytest.raises(UserError, match="line 1"):
        read_log(path)


def test_a_message_with_odd_line_separators_stays_one_line(tmp_path: Path) -> None:
    odd = judged("MQ-1.only", message="a\u2028b\u0085c\nd")
    path = _write(tmp_path / "log", header(listed("MQ-1")), odd)
    assert read_log(path).results == (odd,)
    assert LogFollower(path).new_events()[1] == odd


def test_following_gives_each_event_once_and_waits_for_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    follower = LogFollower(path)
    assert follower.new_events() == []
    _write(path, header(listed("MQ-1")))
    assert len(follower.new_events()) == 1
    line = judged("MQ-1.only").model_dump_json() + "\n"
    with path.open("a") as file:
        file.write(line[:20])
        file.flush()
        assert follower.new_events() == []
        file.write(line[20:])
    assert [event.event for event in follower.new_events()] == ["result"]
    assert follower.new_events() == []
