"""What a comparison says of its runs, how it orders them, and when it goes on with an earlier one."""

from dataclasses import replace

import numpy as np
import pytest

from warpsmith.cli.render_compare import render_compare
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.outcome import CompileFailed, Evaluation
from warpsmith.measure.statistics import Ratio
from warpsmith.record.result import ModelCost
from warpsmith.settings import Settings
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.comparison.contenders import course
from warpsmith.tuning.comparison.figures import Final, advantage, courses, median_interval, spread, summary, wins
from warpsmith.tuning.comparison.plan import ComparisonPlan
from warpsmith.tuning.comparison.result import ComparisonResult
from warpsmith.tuning.order import Mode
from warpsmith.tuning.templates.effort import Effort
from warpsmith.tuning.templates.shared import SharedTemplates

KERNEL = load_kernel("silu_and_mul")


def final(mode: Mode, seed: int, speedup: float, path: tuple[float, ...] = (1.0, 1.5)) -> Final:
    ratio = Ratio(speedup, speedup * 0.98, speedup * 1.02)
    return Final(f"run-{mode}-{seed}", mode, seed, Configuration((("A", seed),)), ratio, {"w": speedup}, len(path), 1, 7.0, path)


def result(template: list[float], direct: list[float]) -> ComparisonResult:
    runs = [
        final(mode, i, s) for mode, all_of in ((Mode.TEMPLATE, template), (Mode.DIRECT, direct)) for i, s in enumerate(all_of)
    ]
    return ComparisonResult("name", ComparisonPlan(KERNEL, seeds=len(template)), tuple(runs), 0.1, 12.0)


def test_spread_is_the_interquartile_range_over_the_median():
    assert spread(np.array([1.0, 2.0, 3.0, 4.0, 5.0])) == pytest.approx(2 / 3)
    assert spread(np.array([2.0, 2.0, 2.0])) == 0


def test_summary_of_a_mode():
    found = summary([final(Mode.DIRECT, seed, speedup) for seed, speedup in enumerate((0.9, 2.0, 3.0))])
    assert (found["median_speedup"], found["worst"], found["best"], found["regressions"]) == (2.0, 0.9, 3.0, 1)
    assert found["speedups"] == [0.9, 2.0, 3.0]
    assert (found["evaluations"], found["failures"]) == ([2, 2, 2], 3)
    low, high = found["ci95"]
    assert 0.9 <= low < 2.0 < high <= 3.0


def test_every_run_of_one_mode_is_held_against_every_run_of_the_other():
    template, direct = np.array([2.0, 3.0]), np.array([2.0, 2.5])
    assert wins(template, direct) == {"pairs": 4, "template": 2, "direct": 1, "ties": 1}
    ahead = advantage(np.full(8, 3.0), np.full(8, 2.0))
    assert (ahead.value, ahead.low, ahead.high) == (1.5, 1.5, 1.5)


def test_the_interval_of_a_median_shrinks_with_the_number_of_seeds():
    rng = np.random.default_rng(1)
    few, many = (median_interval(rng.normal(3, 0.3, size=n)) for n in (5, 80))
    assert many[1] - many[0] < few[1] - few[0]


def test_a_course_holds_the_best_so_far_and_a_short_one_stays_where_it_ended():
    failed = Evaluation(Configuration(), CompileFailed("no"))
    assert course([failed, failed]) == (1.0, 1.0)
    table = courses([final(Mode.DIRECT, 0, 2.0, (1.0, 1.5)), final(Mode.DIRECT, 1, 2.0, (1.0, 1.2, 2.0))], 3)
    assert table.tolist() == [[1.0, 1.5, 1.5], [1.0, 1.2, 2.0]]


def test_the_object_and_the_page_say_the_same(tmp_path):
    compared = result([3.0, 3.1, 3.05], [2.0, 3.2, 1.1])
    found = compared.as_dict()
    assert found["template"]["median_speedup"] == 3.05
    assert found["direct"]["median_speedup"] == 2.0
    assert found["template"]["spread"] < found["direct"]["spread"]
    assert [run["mode"] for run in found["runs"]] == ["template"] * 3 + ["direct"] * 3
    compared.write(tmp_path)
    page = (tmp_path / "compare.md").read_text()
    assert "| template + search | 3.05× |" in page
    assert "| 2 | 3.05× | 2.99 – 3.11 | 1.10× | 1.08 – 1.12 |" in page
    assert {file.name for file in tmp_path.iterdir()} == {"compare.md", "compare.json", "compare.svg", "compare.png"}


def test_modes_take_turns_in_going_first():
    orders = list(ComparisonPlan(KERNEL, seeds=3, budget=Budget(9)).orders("name"))
    assert [(o.seed, o.mode) for o in orders] == [
        (0, "template"),
        (0, "direct"),
        (1, "direct"),
        (1, "template"),
        (2, "template"),
        (2, "direct"),
    ]
    assert {(o.budget, o.agent, o.comparison) for o in orders} == {(Budget(9), "rules", "name")}


def test_an_unfinished_comparison_keeps_its_name_and_a_finished_one_is_made_again(tmp_path):
    settings = Settings(tmp_path)
    name = ComparisonPlan(KERNEL).name(settings)
    assert ComparisonPlan(KERNEL).name(settings) == name
    assert ComparisonPlan(KERNEL, budget=Budget(41)).name(settings) != name
    folder = settings.comparison_folder(name)
    folder.mkdir(parents=True)
    (folder / "compare.json").write_text("{}")
    assert ComparisonPlan(KERNEL).name(settings) not in (name, ComparisonPlan(KERNEL, budget=Budget(41)).name(settings))


@pytest.mark.parametrize(("changes", "said"), [({"seeds": 0}, "at least 1 seed, not 0"), ({"agent": "none"}, "needs an agent")])
def test_what_cannot_be_compared_is_refused(changes, said):
    with pytest.raises(InputError, match=said):
        ComparisonPlan(KERNEL, **changes)


class Maker:
    def __init__(self):
        self.made = []

    def problem_of(self, proposal):
        return None

    def make(self, passes, proposals, folder, effort):
        self.made.append(tuple(passes))
        folder.mkdir(parents=True)
        (folder / "kernel.toml").write_text("")
        return folder / "kernel.toml", {"applied": list(passes), "declined": {}}


def test_the_same_passes_make_one_template_also_after_a_kill(tmp_path):
    maker = Maker()
    first = SharedTemplates(maker, tmp_path).make(("a", "b"), (), tmp_path / "of run 1", Effort())
    again = SharedTemplates(maker, tmp_path).make(("a", "b"), (), tmp_path / "of run 2", Effort())
    other = SharedTemplates(maker, tmp_path).make(("a",), (), tmp_path / "of run 2", Effort())
    assert first == again
    assert first[0] != other[0]
    assert maker.made == [("a", "b"), ("a",)]


def test_what_a_model_took_is_added_up_for_each_side_and_shown(capsys):
    compared = result([2.0, 2.0], [1.5, 1.5])
    assert compared.as_dict()["model"] is None
    costs = [ModelCost(tokens=1000 * (i + 1), usd=0.01 * (i + 1), unpriced=False) for i in range(4)]
    compared = replace(compared, finals=tuple(replace(f, model=cost) for f, cost in zip(compared.finals, costs, strict=True)))
    found = compared.as_dict()
    assert found["template"]["model"] == {"tokens": 3000, "usd": 0.03, "unpriced": False}
    assert found["model"] == {"tokens": 10_000, "usd": 0.1, "unpriced": False}
    render_compare({**found, "output": "here"})
    said = " ".join(capsys.readouterr().out.split())
    assert "The model took 10,000 tokens, $0.1000: template + search 3,000 tokens, $0.0300, direct rewriting 7,000" in said
