-- 1: decisions, and what was withdrawn
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    mention TEXT NOT NULL, concept_id TEXT NOT NULL, accepted INTEGER NOT NULL,
    scope TEXT NOT NULL, reviewer TEXT NOT NULL, time TEXT NOT NULL,
    model TEXT NOT NULL, release TEXT NOT NULL
);
CREATE TABLE withdrawals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    decision INTEGER NOT NULL UNIQUE REFERENCES decisions (id),
    reviewer TEXT NOT NULL, time TEXT NOT NULL
);
-- 2: steps, projects, and what is said beside a decision
CREATE TABLE steps (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER REFERENCES projects (id),
    reviewer TEXT NOT NULL, role TEXT NOT NULL, time TEXT NOT NULL, words TEXT NOT NULL,
    undone TEXT NOT NULL DEFAULT '', undone_by TEXT NOT NULL DEFAULT ''
);
CREATE TABLE details (
    decision INTEGER PRIMARY KEY REFERENCES decisions (id),
    role TEXT NOT NULL, predicate TEXT NOT NULL, step INTEGER REFERENCES steps (id),
    others INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX details_of_step ON details (step);
CREATE TABLE projects (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    options TEXT NOT NULL, created TEXT NOT NULL, reviewer TEXT NOT NULL,
    model TEXT NOT NULL, release TEXT NOT NULL
);
CREATE TABLE sources (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL, format TEXT NOT NULL, encoding TEXT NOT NULL, place TEXT NOT NULL,
    content BLOB NOT NULL
);
CREATE TABLE documents (
    project INTEGER NOT NULL REFERENCES projects (id), number INTEGER NOT NULL,
    source INTEGER NOT NULL REFERENCES sources (id), id TEXT NOT NULL, record TEXT NOT NULL,
    searched INTEGER NOT NULL, PRIMARY KEY (project, number)
);
CREATE TABLE cells (
    source INTEGER NOT NULL REFERENCES sources (id), row INTEGER NOT NULL, cells TEXT NOT NULL,
    PRIMARY KEY (source, row)
);
CREATE TABLE answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL REFERENCES projects (id),
    ids TEXT NOT NULL, shown TEXT NOT NULL, confidence REAL, prediction BLOB NOT NULL
);
CREATE TABLE mentions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL REFERENCES projects (id),
    source INTEGER NOT NULL REFERENCES sources (id), document INTEGER, place INTEGER NOT NULL,
    text TEXT NOT NULL, spans TEXT NOT NULL, type TEXT NOT NULL,
    form TEXT NOT NULL, expanded TEXT NOT NULL DEFAULT '', answer INTEGER REFERENCES answers (id)
);
CREATE INDEX mentions_by_text ON mentions (project, text);
CREATE INDEX mentions_by_answer ON mentions (project, answer, type);
CREATE INDEX mentions_of_document ON mentions (project, document) WHERE document IS NOT NULL;
CREATE INDEX answers_of_project ON answers (project);
CREATE TABLE marks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL REFERENCES steps (id),
    document INTEGER NOT NULL, action TEXT NOT NULL,
    before TEXT NOT NULL, spans TEXT NOT NULL, type TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX marks_of_step ON marks (step);
CREATE TABLE remarks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL REFERENCES steps (id),
    form TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL
);
-- 3: what was accepted in bulk, and what settles a dispute
ALTER TABLE details RENAME COLUMN others TO bulk;
UPDATE details SET bulk = bulk > 0;
ALTER TABLE details ADD COLUMN settles TEXT NOT NULL DEFAULT '[]';
UPDATE details SET settles = (
    SELECT json_group_array(DISTINCT reviewer) FROM decisions WHERE id < details.decision
) WHERE role = 'adjudicator';
-- 4: the form by which mentions are equal; what was left of files and projects that were not
-- stored to their end, or deleted, goes (content that is whole begins as zlib's does)
ALTER TABLE decisions ADD COLUMN form TEXT NOT NULL DEFAULT '';
CREATE INDEX decisions_by_form ON decisions (form);
UPDATE decisions SET form = form(mention, scope);
UPDATE mentions SET form = form(iif(expanded = '', text, expanded), '');
DELETE FROM sources WHERE substr(content, 1, 1) <> x'78'
    OR project IN (SELECT id FROM projects WHERE created = '');
DELETE FROM cells WHERE source NOT IN (SELECT id FROM sources);
DELETE FROM mentions WHERE source NOT IN (SELECT id FROM sources);
DELETE FROM documents WHERE source NOT IN (SELECT id FROM sources);
DELETE FROM answers WHERE project IN (SELECT id FROM projects WHERE created = '');
UPDATE steps SET project = NULL
    WHERE project IN (SELECT id FROM projects WHERE created = '');
DELETE FROM projects WHERE created = '';
-- 5: of mentions the form as they are written, and what texts say of them
ALTER TABLE mentions ADD COLUMN written TEXT NOT NULL DEFAULT '';
ALTER TABLE answers ADD COLUMN assertion TEXT NOT NULL DEFAULT 'present';
UPDATE mentions SET written = form(text, 'x') WHERE document IS NOT NULL;
UPDATE answers SET assertion = (
    SELECT iif(count(DISTINCT json_extract(value, '$.assertion')) > 1, 'mixed',
        max(json_extract(value, '$.assertion'))) FROM json_each(shown)
) WHERE shown LIKE '%"assertion": %';
