"""Basic types: configurations, outcomes, expressions, dtypes, limits, errors. Imports nothing from other folders."""
