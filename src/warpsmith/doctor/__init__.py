"""Diagnosis of this machine, with remedies: `examination` collects findings, `launch` ends with a verified launch."""
