BEGIN TRANSACTION;
CREATE TABLE answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL REFERENCES projects (id),
    ids TEXT NOT NULL, shown TEXT NOT NULL, confidence REAL, prediction BLOB NOT NULL
);
CREATE TABLE cells (
    source INTEGER NOT NULL REFERENCES sources (id), row INTEGER NOT NULL, cells TEXT NOT NULL,
    PRIMARY KEY (source, row)
);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    mention TEXT NOT NULL, concept_id TEXT NOT NULL, accepted INTEGER NOT NULL,
    scope TEXT NOT NULL, reviewer TEXT NOT NULL, time TEXT NOT NULL,
    model TEXT NOT NULL, release TEXT NOT NULL
);
INSERT INTO "decisions" VALUES(1,'gout','A:1',1,'','ann','2026-11-01T09:00:00+00:00','','');
INSERT INTO "decisions" VALUES(2,'Gout','A:2',1,'','bob','2026-11-02T09:00:00+00:00','','');
INSERT INTO "decisions" VALUES(3,'gout','A:1',1,'','eve','2026-11-03T09:00:00+00:00','','');
INSERT INTO "decisions" VALUES(4,'mumps','A:3',1,'','ann','2026-11-04T09:00:00+00:00','','');
INSERT INTO "decisions" VALUES(5,'croup','',1,'','ann','2026-11-04T09:00:00+00:00','','');
INSERT INTO "decisions" VALUES(6,'cough','A:4|-1',1,'','ann','2026-11-04T09:00:00+00:00','','');
INSERT INTO "decisions" VALUES(7,'croup','A:5',0,'7','bob','2026-11-05T09:00:00+00:00','model','2026');
INSERT INTO "decisions" VALUES(8,'fever','A:6',1,'','','2026-11-06T09:00:00+00:00','','');
INSERT INTO "decisions" VALUES(9,'fever','A:7',1,'','bob','2026-11-06T09:00:00+00:00','','');
CREATE TABLE details (
    decision INTEGER PRIMARY KEY REFERENCES decisions (id),
    role TEXT NOT NULL, predicate TEXT NOT NULL, step INTEGER REFERENCES steps (id),
    others INTEGER NOT NULL DEFAULT 0
);
INSERT INTO "details" VALUES(3,'adjudicator','broad',1,0);
INSERT INTO "details" VALUES(4,'','',2,2);
INSERT INTO "details" VALUES(5,'','',2,2);
INSERT INTO "details" VALUES(6,'','',2,2);
CREATE TABLE documents (
    project INTEGER NOT NULL REFERENCES projects (id), number INTEGER NOT NULL,
    source INTEGER NOT NULL REFERENCES sources (id), id TEXT NOT NULL, record TEXT NOT NULL,
    searched INTEGER NOT NULL, PRIMARY KEY (project, number)
);
CREATE TABLE marks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL REFERENCES steps (id),
    document INTEGER NOT NULL, action TEXT NOT NULL,
    before TEXT NOT NULL, spans TEXT NOT NULL, type TEXT NOT NULL, text TEXT NOT NULL
);
CREATE TABLE mentions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL REFERENCES projects (id),
    source INTEGER NOT NULL REFERENCES sources (id), document INTEGER, place INTEGER NOT NULL,
    text TEXT NOT NULL, spans TEXT NOT NULL, type TEXT NOT NULL,
    form TEXT NOT NULL, expanded TEXT NOT NULL DEFAULT '', answer INTEGER REFERENCES answers (id)
);
CREATE TABLE projects (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    options TEXT NOT NULL, created TEXT NOT NULL, reviewer TEXT NOT NULL,
    model TEXT NOT NULL, release TEXT NOT NULL
);
CREATE TABLE proposals (
    id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL REFERENCES steps (id),
    mention TEXT NOT NULL, label TEXT NOT NULL, definition TEXT NOT NULL, parent TEXT NOT NULL,
    synonyms TEXT NOT NULL, note TEXT NOT NULL
);
INSERT INTO "proposals" VALUES(1,3,'gout','odd gout','','A:1','[]','');
CREATE TABLE remarks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL REFERENCES steps (id),
    form TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL
);
CREATE TABLE sources (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL, format TEXT NOT NULL, encoding TEXT NOT NULL, place TEXT NOT NULL,
    content BLOB NOT NULL
);
CREATE TABLE steps (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER REFERENCES projects (id),
    reviewer TEXT NOT NULL, role TEXT NOT NULL, time TEXT NOT NULL, words TEXT NOT NULL,
    undone TEXT NOT NULL DEFAULT '', undone_by TEXT NOT NULL DEFAULT ''
);
INSERT INTO "steps" VALUES(1,NULL,'eve','adjudicator','2026-11-03T09:00:00+00:00','settled gout','','');
INSERT INTO "steps" VALUES(2,NULL,'ann','','2026-11-04T09:00:00+00:00','accepted 5 mentions in 3 rows in bulk','','');
INSERT INTO "steps" VALUES(3,NULL,'ann','','2026-11-26T22:58:34+00:00','proposed odd gout','','');
CREATE TABLE withdrawals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    decision INTEGER NOT NULL UNIQUE REFERENCES decisions (id),
    reviewer TEXT NOT NULL, time TEXT NOT NULL
);
INSERT INTO "withdrawals" VALUES(1,4,'ann','2026-11-26T22:58:34+00:00');
CREATE INDEX details_of_step ON details (step);
CREATE INDEX mentions_by_text ON mentions (project, text);
CREATE INDEX mentions_by_answer ON mentions (project, answer, type);
CREATE INDEX mentions_of_document ON mentions (project, document) WHERE document IS NOT NULL;
CREATE INDEX answers_of_project ON answers (project);
CREATE INDEX marks_of_step ON marks (step);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('decisions',9);
INSERT INTO "sqlite_sequence" VALUES('steps',3);
INSERT INTO "sqlite_sequence" VALUES('withdrawals',1);
INSERT INTO "sqlite_sequence" VALUES('proposals',1);
COMMIT;
PRAGMA application_id = 1280199492;
PRAGMA user_version = 2;
