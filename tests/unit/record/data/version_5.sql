-- A record as schema version 5 wrote it. Never edit: later versions must read it.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE adversaries (          -- workloads that a tester added to verification
    run   TEXT NOT NULL REFERENCES runs(run),
    name  TEXT NOT NULL,
    sizes TEXT NOT NULL,            -- JSON
    scale REAL NOT NULL,            -- of random inputs
    PRIMARY KEY (run, name)
) STRICT;
INSERT INTO "adversaries" VALUES('k-version-5','odd-8','{"n": 8}',100.0);
CREATE TABLE evaluations (
    run           TEXT NOT NULL REFERENCES runs(run),
    number        INTEGER NOT NULL,
    configuration TEXT NOT NULL,    -- canonical JSON
    kind          TEXT NOT NULL,
    outcome       TEXT NOT NULL,    -- JSON
    seconds       REAL NOT NULL,
    started_at    REAL NOT NULL, round INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (run, number),
    UNIQUE (run, configuration)     -- nothing is evaluated twice
) STRICT;
INSERT INTO "evaluations" VALUES('k-version-5',0,'{"A":0,"B":0.1}','Measured','{"verdict": {"checks": [{"workload": "w", "argument": "out", "passed": true, "max_error": 1e-07, "where": [0, 3], "got": "1", "expected": "1", "problem": ""}]}, "times": [{"workload": "w", "median_us": 12.5, "relative": 0.5, "ci95": [0.0, Infinity], "launches": 3}], "score": 0.5, "resources": {"registers": null, "spill_bytes": null, "shared_bytes": null, "vector_width": 8, "gathers": null, "scatters": null, "instructions": null, "stack_bytes": null, "barriers": null, "scalar_registers": null, "load_bytes": null, "max_threads": null, "remarks": ["a", "b"]}, "identity": ""}',0.5,7.0,1);
INSERT INTO "evaluations" VALUES('k-version-5',1,'{"A":1,"B":0.1}','Infeasible','{"reason": "BLOCK=2048 > 1024"}',0.5,7.0,1);
INSERT INTO "evaluations" VALUES('k-version-5',2,'{"A":2,"B":0.1}','CompileFailed','{"reason": "no such name", "log": "log"}',0.5,7.0,1);
INSERT INTO "evaluations" VALUES('k-version-5',3,'{"A":3,"B":0.1}','LaunchFailed','{"reason": "refused"}',0.5,7.0,1);
INSERT INTO "evaluations" VALUES('k-version-5',4,'{"A":4,"B":0.1}','WrongResult','{"verdict": {"checks": [{"workload": "w", "argument": "out", "passed": false, "max_error": Infinity, "where": [2], "got": "nan", "expected": "1", "problem": "NaN where 1 was expected"}]}}',0.5,7.0,1);
INSERT INTO "evaluations" VALUES('k-version-5',5,'{"A":5,"B":0.1}','Crashed','{"reason": "killed by SIGSEGV"}',0.5,7.0,1);
INSERT INTO "evaluations" VALUES('k-version-5',6,'{"A":6,"B":0.1}','TimedOut','{"reason": "no answer", "limit_s": 2.0}',0.5,7.0,1);
CREATE TABLE messages (
    run           TEXT NOT NULL REFERENCES runs(run),
    number        INTEGER NOT NULL,
    round         INTEGER NOT NULL,
    role          TEXT NOT NULL,
    kind          TEXT NOT NULL,
    text          TEXT NOT NULL,
    model         TEXT,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    usd           REAL,             -- NULL: the model has no known price
    seconds       REAL NOT NULL,
    said_at       REAL NOT NULL,
    PRIMARY KEY (run, number)
) STRICT;
INSERT INTO "messages" VALUES('k-version-5',0,0,'tester','reply','{}','openai:gpt-5',100,20,0.25,2.0,3.0);
CREATE TABLE rounds (
    run         TEXT NOT NULL REFERENCES runs(run),
    number      INTEGER NOT NULL,
    plan        TEXT NOT NULL,      -- JSON: the passes, the reason, the findings it rests on
    kernel_path TEXT NOT NULL,      -- the kernel.toml of the round's template
    fingerprint TEXT NOT NULL,      -- of its files
    report      TEXT NOT NULL,      -- JSON: what each pass did, or why it did not apply
    PRIMARY KEY (run, number)
) STRICT;
INSERT INTO "rounds" VALUES('k-version-5',1,'{"passes": ["lift_constants"], "reason": "why", "findings": [{"concern": "balance", "text": "t", "weight": 1.0}], "is_last": true}','round-1/kernel.toml','f','{"applied": ["lift_constants"], "declined": {"map_2d": "no index"}}');
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
, error TEXT) STRICT;
INSERT INTO "runs" VALUES('k-version-5','k','k/kernel.toml','f','cpu','none','local',3,1.0,'{"evaluations": 5}','{"limits": {}}',0.0,'finished','{"general": {"speedup": 2.0}}',NULL);
CREATE TABLE source_evaluations (
    run           TEXT NOT NULL,
    place         INTEGER NOT NULL,
    number        INTEGER NOT NULL,
    configuration TEXT NOT NULL,
    kind          TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    seconds       REAL NOT NULL,
    started_at    REAL NOT NULL,
    PRIMARY KEY (run, place, number),
    FOREIGN KEY (run, place) REFERENCES sources(run, place)
) STRICT;
INSERT INTO "source_evaluations" VALUES('k-version-5',0,0,'{"A":0,"B":0.1}','Measured','{"verdict": {"checks": [{"workload": "w", "argument": "out", "passed": true, "max_error": 1e-07, "where": [0, 3], "got": "1", "expected": "1", "problem": ""}]}, "times": [{"workload": "w", "median_us": 12.5, "relative": 0.5, "ci95": [0.0, Infinity], "launches": 3}], "score": 0.5, "resources": {"registers": null, "spill_bytes": null, "shared_bytes": null, "vector_width": 8, "gathers": null, "scatters": null, "instructions": null, "stack_bytes": null, "barriers": null, "scalar_registers": null, "load_bytes": null, "max_threads": null, "remarks": ["a", "b"]}, "identity": ""}',0.5,7.0);
INSERT INTO "source_evaluations" VALUES('k-version-5',0,1,'{"A":1,"B":0.1}','Infeasible','{"reason": "BLOCK=2048 > 1024"}',0.5,7.0);
INSERT INTO "source_evaluations" VALUES('k-version-5',0,2,'{"A":2,"B":0.1}','CompileFailed','{"reason": "no such name", "log": "log"}',0.5,7.0);
INSERT INTO "source_evaluations" VALUES('k-version-5',0,3,'{"A":3,"B":0.1}','LaunchFailed','{"reason": "refused"}',0.5,7.0);
INSERT INTO "source_evaluations" VALUES('k-version-5',0,4,'{"A":4,"B":0.1}','WrongResult','{"verdict": {"checks": [{"workload": "w", "argument": "out", "passed": false, "max_error": Infinity, "where": [2], "got": "nan", "expected": "1", "problem": "NaN where 1 was expected"}]}}',0.5,7.0);
INSERT INTO "source_evaluations" VALUES('k-version-5',0,5,'{"A":5,"B":0.1}','Crashed','{"reason": "killed by SIGSEGV"}',0.5,7.0);
INSERT INTO "source_evaluations" VALUES('k-version-5',0,6,'{"A":6,"B":0.1}','TimedOut','{"reason": "no answer", "limit_s": 2.0}',0.5,7.0);
INSERT INTO "source_evaluations" VALUES('k-version-5',1,0,'{"A":0,"B":0.1}','Measured','{"verdict": {"checks": [{"workload": "w", "argument": "out", "passed": true, "max_error": 1e-07, "where": [0, 3], "got": "1", "expected": "1", "problem": ""}]}, "times": [{"workload": "w", "median_us": 12.5, "relative": 0.5, "ci95": [0.0, Infinity], "launches": 3}], "score": 0.5, "resources": {"registers": null, "spill_bytes": null, "shared_bytes": null, "vector_width": 8, "gathers": null, "scatters": null, "instructions": null, "stack_bytes": null, "barriers": null, "scalar_registers": null, "load_bytes": null, "max_threads": null, "remarks": ["a", "b"]}, "identity": ""}',0.5,7.0);
CREATE TABLE sources (
    run    TEXT NOT NULL REFERENCES runs(run),
    place  INTEGER NOT NULL,        -- the order in which they were given
    source TEXT NOT NULL,           -- a run's name, or a file
    kernel TEXT NOT NULL,
    device TEXT NOT NULL,
    found  INTEGER NOT NULL,        -- evaluations that the source had; those below may be fewer
    PRIMARY KEY (run, place)
) STRICT;
INSERT INTO "sources" VALUES('k-version-5',0,'an-earlier-run','k','gpu',7);
INSERT INTO "sources" VALUES('k-version-5',1,'cache.json','other','A100',5000);
COMMIT;
PRAGMA user_version = 5;
