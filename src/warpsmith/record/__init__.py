"""The record of runs: `store` is the database, `run` one run's record, `lock` one process per run, `schema` the versions."""
