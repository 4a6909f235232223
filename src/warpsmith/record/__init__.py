"""What is kept of runs: `store` is the database, `run` what it has of a run, `lock` who works on one, `schema` its versions."""
