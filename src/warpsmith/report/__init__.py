"""Presentation of results: text, plots and pages, from figures only."""
