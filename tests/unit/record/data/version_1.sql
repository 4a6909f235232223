-- A record as schema version 1 wrote it. Never edit: later versions must read it.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE evaluations (
    run           TEXT NOT NULL REFERENCES runs(run),
    number        INTEGER NOT NULL,
    configuration TEXT NOT NULL,    -- canonical JSON
    kind          TEXT NOT NULL,
    outcome       TEXT NOT NULL,    -- JSON
    seconds       REAL NOT NULL,
    started_at    REAL NOT NULL,
    PRIMARY KEY (run, number),
    UNIQUE (run, configuration)     -- nothing is evaluated twice
) STRICT;
INSERT INTO "evaluations" VALUES('k-version-1',0,'{"A":0,"B":"x"}','Measured','{"verdict": {"checks": [{"workload": "w", "argument": "out", "passed": true, "max_error": 1e-07, "where": [0, 3], "got": "1", "expected": "1", "problem": ""}]}, "times": [{"workload": "w", "median_us": 12.5, "relative": 0.5, "ci95": [0.0, Infinity], "launches": 3}], "score": 0.5, "resources": {"registers": null, "spill_bytes": null, "shared_bytes": null, "vector_width": 8, "gathers": null, "scatters": null, "instructions": null, "remarks": ["a", "b"]}}',0.5,100.0);
INSERT INTO "evaluations" VALUES('k-version-1',1,'{"A":1,"B":"x"}','Infeasible','{"reason": "BLOCK=2048 > 1024"}',0.5,101.0);
INSERT INTO "evaluations" VALUES('k-version-1',2,'{"A":2,"B":"x"}','CompileFailed','{"reason": "no such name", "log": "log"}',0.5,102.0);
INSERT INTO "evaluations" VALUES('k-version-1',3,'{"A":3,"B":"x"}','LaunchFailed','{"reason": "refused"}',0.5,103.0);
INSERT INTO "evaluations" VALUES('k-version-1',4,'{"A":4,"B":"x"}','WrongResult','{"verdict": {"checks": [{"workload": "w", "argument": "out", "passed": false, "max_error": Infinity, "where": [2], "got": "nan", "expected": "1", "problem": "NaN where 1 was expected"}]}}',0.5,104.0);
INSERT INTO "evaluations" VALUES('k-version-1',5,'{"A":5,"B":"x"}','Crashed','{"reason": "killed by SIGSEGV"}',0.5,105.0);
INSERT INTO "evaluations" VALUES('k-version-1',6,'{"A":6,"B":"x"}','TimedOut','{"reason": "no answer", "limit_s": 2.0}',0.5,106.0);
CREATE TABLE runs (
    run         TEXT PRIMARY KEY,
    kernel      TEXT NOT NULL,
    kernel_path TEXT NOT NULL,
    fingerprint TEXT NOT NULL,      -- of the kernel's files: a resumed run must still mean the same kernel
    device      TEXT NOT NULL,
    agent       TEXT NOT NULL,
    strategy    TEXT NOT NULL,
    seed        INTEGER NOT NULL,
    created_at  REAL NOT NULL,
    settings    TEXT NOT NULL,      -- JSON: budget and options
    device_info TEXT NOT NULL,      -- JSON
    seconds     REAL NOT NULL DEFAULT 0,
    status      TEXT NOT NULL DEFAULT 'running',
    result      TEXT                -- JSON, once finished
) STRICT;
INSERT INTO "runs" VALUES('k-version-1','k','k/kernel.toml','f','cpu','none','local',3,1.0,'{"evaluations": 5}','{"limits": {}}',0.0,'finished','{"general": {"speedup": 2.0}}');
COMMIT;
PRAGMA user_version = 1;
