"""What the machine reached, over several processes."""

from warpsmith.measure.roofline import Probed
from warpsmith.tuning.claims.interleaved import ProcessMeasurement
from warpsmith.tuning.claims.machine import machine_of


def process(probed: Probed | None) -> ProcessMeasurement[int]:
    return ProcessMeasurement({}, {}, None, None, probed)


def test_medians_of_what_every_process_probed():
    found = machine_of([process(Probed({"w": us, "v": 1.0}, per)) for us, per in ((10.0, 1e-4), (12.0, 2e-4), (50.0, 2e-4))])
    assert found.stream_us == {"w": 12.0, "v": 1.0}
    assert found.gflops == 5.0


def test_what_was_not_probed_is_left_out():
    assert machine_of([process(None)]).gflops is None
    found = machine_of([process(Probed({"w": 10.0, "v": 1.0}, 0.0)), process(Probed({"w": 10.0}, 0.0)), process(None)])
    assert (found.stream_us, found.gflops) == ({"w": 10.0}, None)
