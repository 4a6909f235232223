"""Every exporter that comes with Warpsmith keeps to what `warpsmith.testing.exporters` asks for."""

from warpsmith.export.header import HeaderExporter
from warpsmith.export.kernel_tuner import KernelTunerExporter
from warpsmith.export.pytorch import PyTorchExporter
from warpsmith.export.registry import exporter_names
from warpsmith.export.source import SourceExporter
from warpsmith.testing.exporters import ExporterConformance


class TestSource(ExporterConformance):
    def make(self):
        return SourceExporter()


class TestKernelTuner(ExporterConformance):
    def make(self):
        return KernelTunerExporter()


class TestHeader(ExporterConformance):
    def make(self):
        return HeaderExporter()


class TestTorch(ExporterConformance):
    def make(self):
        return PyTorchExporter()


def test_all_that_can_be_named_are_here():
    tried = {kind().make().name for kind in (TestSource, TestKernelTuner, TestHeader, TestTorch)}
    assert tried == set(exporter_names())
