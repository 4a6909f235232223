"""What was said in a run, as people read it."""

import json

from warpsmith.cli.render_transcript import render_transcript
from warpsmith.record.run import RunHeader
from warpsmith.record.store import Store
from warpsmith.record.transcript import CALL, Kind, Message, Role
from warpsmith.report.lab_book import lab_book

HEADER = RunHeader("k", "k/kernel.toml", "f", "cpu", "openai:gpt-5", "gp", 0, {}, {})
SAID = (
    Message(Role.TESTER, Kind.PROMPT, "# Tester (prompt version 1)\n\n## The kernel\n#pragma once\n", 0, "openai:gpt-5"),
    Message(Role.TESTER, Kind.FAULT, "HTTP 429: slow down", 0, "openai:gpt-5"),
    Message(
        Role.TESTER,
        Kind.REPLY,
        '{"source": "int a;\\nint b;", "parameters": [{"name": "A"}], "n": 3}',
        0,
        "openai:gpt-5",
        100,
        20,
        0.25,
        2,
    ),
    Message(Role.PLANNER, Kind.REPLY, "no JSON", 1, "ollama:x", 10, 2, None, 1),
    Message(Role.PLANNER, Kind.PROBLEM, "there is no JSON object in the answer", 1, "ollama:x"),
    Message(Role.PLANNER, Kind.DECISION, "continuing without it", 1),
)


def test_the_lab_book_tells_who_said_what_and_what_it_cost(tmp_path, capsys):
    with Store(tmp_path / "runs.sqlite") as store:
        run = store.begin(HEADER)
        for message in SAID:
            store.say(run, message)
        book = lab_book(store.find(run), store)
    assert book["cost"] == {"answers": 2, "input_tokens": 110, "output_tokens": 22, "usd": 0.25, "unpriced": 1, "seconds": 3}
    assert [about["round"] for about in book["rounds"]] == [0, 1]
    assert book["messages"][2]["text"] == SAID[2].text
    render_transcript(book)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "agent openai:gpt-5: 2 answers in 3 s, 110 tokens in and 22 out, $0.2500, 1 of them without a known price"
    at = {line.strip(): number for number, line in enumerate(lines)}
    order = [
        "── before the first round ──",
        "Tester (prompt version 1) · The kernel",
        "tester    openai:gpt-5 could not be asked",
        "HTTP 429: slow down",
        "tester    openai:gpt-5 answers after 2.0 s, 100 + 20 tokens, $0.2500",
        "| int b;",
        "- name: A",
        "n: 3",
        "── round 1 ──",
        "no JSON",
        "planner   the answer was rejected",
        "planner   decides",
    ]
    assert [at[line] for line in order] == sorted(at[line] for line in order)


def test_a_terminal_is_not_driven_by_what_a_model_says(tmp_path, capsys):
    with Store(tmp_path / "runs.sqlite") as store:
        run = store.begin(HEADER)
        store.say(run, Message(Role.PLANNER, Kind.REPLY, "\x1b]0;title\x07 and\tmore", round=1, model="m"))
        render_transcript(lab_book(store.find(run), store))
    out = capsys.readouterr().out
    assert "]0;title" in out
    assert all(c.isprintable() or c == "\n" for c in out)


def test_a_run_without_a_model_says_so(tmp_path, capsys):
    with Store(tmp_path / "runs.sqlite") as store:
        run = store.begin(HEADER)
        render_transcript(lab_book(store.find(run), store))
    assert "this run has no conversation" in capsys.readouterr().out


def test_long_results_of_tools_are_cut_and_each_form_of_an_answer_stands_alone(tmp_path, capsys):
    code = "\n".join(f"vaddps zmm{n}, zmm1, zmm2" for n in range(40))
    wrapped = json.dumps(
        {"tool": "try_form", "arguments": json.dumps({"form": {"hypothesis": "wider", "source": "int a;\nint b;"}})}
    )
    forms = {"form": [{"tried": 1}, {"hypothesis": "narrower", "source": "int c;\nint d;"}]}
    with Store(tmp_path / "runs.sqlite") as store:
        run = store.begin(HEADER)
        store.say(run, Message(Role.ANALYST, Kind.REPLY, CALL + wrapped, round=1, model="m"))
        store.say(run, Message(Role.ANALYST, Kind.TOOL, f"hot_loop\n{code}", round=1, model="m"))
        store.say(run, Message(Role.ANALYST, Kind.REPLY, json.dumps(forms), round=1, model="m"))
        book = lab_book(store.find(run), store)
    render_transcript(book)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    for part in (
        "tries: wider",
        "| int b;",
        "vaddps zmm10, zmm1, zmm2",
        "… and 29 more lines, in --json",
        "tried: 1",
        "| int d;",
    ):
        assert part in lines, part
    assert "vaddps zmm11, zmm1, zmm2" not in lines
    assert lines.count("| int b;") == 1
    assert code in book["messages"][1]["text"]
