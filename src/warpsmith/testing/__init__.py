"""Conformance suites for plug-ins: subclass the one of your kind and run it with pytest."""
