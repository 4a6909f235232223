"""What everything else is made of: configurations, outcomes, expressions, dtypes, limits, errors. Imports nothing from above."""
