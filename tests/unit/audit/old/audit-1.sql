-- SPDX-License-Identifier: Apache-2.0
-- What sqlite3 .dump gives of a trail that a gate with schema 1 wrote: four calls, and its start and stop.
PRAGMA application_id = 1128743253;
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE file (
    seq        INTEGER PRIMARY KEY, -- the number before the first row: 0, or the last one of the file before this
    format     INTEGER NOT NULL CHECK (format = 1),
    created_us INTEGER NOT NULL,
    id         BLOB NOT NULL,       -- 16 random bytes
    previous   BLOB,                -- head of the file before this one; NULL: this is the first
    hash       BLOB NOT NULL
) STRICT;
INSERT INTO file VALUES(0,1,1795200154749223,X'356e2d50a8a2560521d38e16f73860ec',NULL,X'42fa1de091afb1b1264064848bc1beb5a1fc5a84c0d2606497765bd7c817678f');
CREATE TABLE decision (
    seq                  INTEGER PRIMARY KEY,
    time_us              INTEGER NOT NULL,
    tenant_previous      BLOB,    -- hash of the same tenant's previous row; NULL: its first, or no tenant
    -- who
    tenant               TEXT,    -- NULL: refused before an identity was known
    principal            TEXT,
    authentication       TEXT,    -- api_key, bearer, certificate, none
    client               TEXT,    -- address
    session              BLOB,    -- SHA-256 of the session id that the agent sent
    node                 TEXT,    -- the gate's host
    -- what
    correlation          TEXT,    -- as it went upstream and back
    correlation_replaced TEXT,    -- what the agent sent, where that could not be taken over
    trace                TEXT,    -- W3C trace id
    upstream             TEXT,    -- the route's name
    dialect              TEXT,
    protocol_version     TEXT,
    direction            TEXT,    -- agent or server: who sent the message
    method               TEXT,
    tool                 TEXT,    -- tool, prompt or resource
    rpc_id               TEXT,    -- JSON-RPC id, as JSON
    arguments_bytes      INTEGER, -- size of the canonical arguments; NULL: there were none
    arguments_digest     BLOB,    -- SHA-256(salt || arguments), of all of them even where the value was cut
    arguments_cut        INTEGER NOT NULL, -- 1: too long to be kept whole; `arguments_begin` holds the beginning
    arguments_redacted   INTEGER NOT NULL, -- 1: a policy had values replaced before they came here
    begin_digest         BLOB,    -- SHA-256(salt || arguments_begin), where cut
    body_bytes           INTEGER, -- size of the canonical body
    body_digest          BLOB,    -- SHA-256(salt || body)
    query_bytes          INTEGER,
    query_digest         BLOB,    -- SHA-256(salt || query)
    -- verdict
    verdict              TEXT NOT NULL, -- permit, deny, hold
    reason               TEXT NOT NULL, -- a code of the reason table
    rule                 TEXT,    -- the rule that decided; NULL: none applied
    rule_reason          TEXT,    -- its author's sentence
    rules                TEXT,    -- every rule that applied, as JSON
    undecided            TEXT,    -- the condition that could not be decided, where one decided by that
    monitor              TEXT,    -- what monitored rules would have done, as JSON
    policy_version       INTEGER,
    policy_hash          BLOB,    -- SHA-256 of that version
    judge_us             INTEGER, -- microseconds of judging
    status               INTEGER, -- denials: HTTP status that the agent got
    latency_us           INTEGER, -- denials: from the head to the verdict
    expects_outcome      INTEGER NOT NULL, -- 1: exactly one row of `outcome` follows
    hash                 BLOB NOT NULL,
    -- Outside the chain, so that they can be erased; the digests above vouch for them. They are columns and not a table
    -- of their own because a second insert costs the writer 15 % and each call 41 bytes.
    salt                 BLOB,    -- 16 random bytes
    arguments            TEXT,    -- canonical JSON
    arguments_begin      TEXT
) STRICT;
INSERT INTO decision VALUES(3,1795200154754364,NULL,'acme','tester','none','127.0.0.1',NULL,'vm','one',NULL,NULL,'up','mcp',NULL,'agent','tools/call','count','1',12,X'38c05f65c02292491639868e2882cd9faca856b22d920f11e55f13e6aeea244a',0,0,NULL,97,X'dce0980f22cc3f9aee756edcb3dc8227beaf225b219da91e2971019fd0d52cfc',NULL,NULL,'permit','permitted','two.count',NULL,'[{"id":"two.count","effect":"permit","monitor":false}]',NULL,NULL,1,X'4bb7804be33ea9aa37c41e92520934606947d61bd15fb447cbc5128df55d34c8',9,NULL,NULL,1,X'15011ab645ba0cfdf8dd1425d6e782635d4dffa73ad8ce670c898eb9e63e2301',X'19b83960ffd4e8a81dc53eca4a795691','{"id":"one"}',NULL);
INSERT INTO decision VALUES(5,1795200154756364,X'3fdd80b5f85c216fb156c4a7707044fd35e71e6bc2a88d0e6b27dca8586ea75e','acme','tester','none','127.0.0.1',NULL,'vm','two',NULL,NULL,'up','mcp',NULL,'agent','tools/call','count','1',12,X'c1ab864f47d8515e61befaae24caaf885c51ed91f000414f42218849d4372105',0,0,NULL,97,X'f18ba5f60a092672b2b54d9ef8a7a36634b579cbcd990859fe53ef41ae0539ec',NULL,NULL,'permit','permitted','two.count',NULL,'[{"id":"two.count","effect":"permit","monitor":false}]',NULL,NULL,1,X'4bb7804be33ea9aa37c41e92520934606947d61bd15fb447cbc5128df55d34c8',7,NULL,NULL,1,X'0b565fd4f12fffd3f651768842fd89117416d0290cb71227fe664d54aed84f74',X'e15b711b3cff77a36cd27688ae65af57','{"id":"two"}',NULL);
INSERT INTO decision VALUES(6,1795200154757518,X'0b565fd4f12fffd3f651768842fd89117416d0290cb71227fe664d54aed84f74','acme','tester','none','127.0.0.1',NULL,'vm','three',NULL,NULL,'up','mcp',NULL,'agent','tools/call','count','1',14,X'6f28628b5b947e47e6e1017d616be30487287c6de075b7cd48f1095ef04c8385',0,0,NULL,99,X'992f624a2deb8ea05939d6b649b17bcdd7e6f718e40157128704f35c0697004d',NULL,NULL,'permit','permitted','two.count',NULL,'[{"id":"two.count","effect":"permit","monitor":false}]',NULL,NULL,1,X'4bb7804be33ea9aa37c41e92520934606947d61bd15fb447cbc5128df55d34c8',1,NULL,NULL,1,X'1f62e2ac824610baf67fc7f2b05f6ddb30f444069c39f5a04b6fb587cc5abdf2',X'eeffcb7ad8d80f202c1defe281daa95c','{"id":"three"}',NULL);
INSERT INTO decision VALUES(8,1795200154758469,X'dbcaf288e7e9869842f696477c4d4e04415940d880bee710eadabdffd13f651b','acme','tester','none','127.0.0.1',NULL,'vm','bad',NULL,NULL,'up','mcp',NULL,'agent','tools/call','never','1',10,X'a8de71b7dca4b28e25869604432425671b9e6b0a50a9131647e9e8657df77557',0,0,NULL,95,X'a00b4b253ec50dcd6b1d31994b5eb4b814d342cb3da018b329be39b640a82994',NULL,NULL,'deny','forbidden','two.never','Nobody does this, "ever".','[{"id":"two.never","effect":"forbid","monitor":false}]',NULL,NULL,1,X'4bb7804be33ea9aa37c41e92520934606947d61bd15fb447cbc5128df55d34c8',2,200,33,0,X'a701b01af4b8e0b0a700c569b042068685ce9f694ebb5662dbeeb63a5fc69777',X'2fb2d57ff5e53b025af3f5010c4ba88c','{"id":"x"}',NULL);
CREATE TABLE outcome (
    seq                  INTEGER PRIMARY KEY,
    time_us              INTEGER NOT NULL,
    tenant_previous      BLOB,
    tenant               TEXT,
    decision             INTEGER NOT NULL UNIQUE, -- seq of the permit
    outcome              TEXT NOT NULL,
    reason               TEXT NOT NULL,
    status               INTEGER, -- HTTP status that the agent got
    error_code           INTEGER, -- JSON-RPC
    response_bytes       INTEGER, -- delivered to the agent
    response_digest      BLOB,    -- SHA-256(salt of the decision || SHA-256(delivered body))
    server_requests      INTEGER NOT NULL, -- messages of the server inside this exchange
    server_notifications INTEGER NOT NULL,
    server_denied        INTEGER NOT NULL,
    latency_us           INTEGER, -- from the head to the last byte
    upstream_us          INTEGER, -- from the first byte up to the first byte down
    hash                 BLOB NOT NULL
) STRICT;
INSERT INTO outcome VALUES(4,1795200154755801,X'15011ab645ba0cfdf8dd1425d6e782635d4dffa73ad8ce670c898eb9e63e2301','acme',3,'result','completed',200,NULL,77,X'946b90b15e23aada7081a932cadf4a94ce7c677344a21d6d6e3e4aff3eeb709b',0,0,0,1442,337,X'3fdd80b5f85c216fb156c4a7707044fd35e71e6bc2a88d0e6b27dca8586ea75e');
INSERT INTO outcome VALUES(7,1795200154757214,X'1f62e2ac824610baf67fc7f2b05f6ddb30f444069c39f5a04b6fb587cc5abdf2','acme',5,'result','completed',200,NULL,77,X'cb2671c397e29bad7d160423330b3502f96e654c054205324cc4352ef2812359',0,0,0,872,135,X'dbcaf288e7e9869842f696477c4d4e04415940d880bee710eadabdffd13f651b');
INSERT INTO outcome VALUES(9,1795200154757962,X'a701b01af4b8e0b0a700c569b042068685ce9f694ebb5662dbeeb63a5fc69777','acme',6,'result','completed',200,NULL,77,X'ee878296ef7b676346064f4fd9b22d25d051192012325a7ee4aa61fef85102e6',0,0,0,435,130,X'c799e6883cb374151f226c8483f461843f8be5cb6c0dd7491e36bdd34dcf4e55');
CREATE TABLE event (
    seq             INTEGER PRIMARY KEY,
    time_us         INTEGER NOT NULL,
    tenant_previous BLOB,
    tenant          TEXT,         -- NULL: concerns none in particular
    kind            TEXT NOT NULL,
    actor           TEXT,         -- who: a user's name, a principal, or gate
    detail          TEXT,         -- a JSON object
    hash            BLOB NOT NULL
) STRICT;
INSERT INTO event VALUES(1,1795200154751845,NULL,NULL,'start','gate','{"node":"vm","version":"0.1.0","pid":31263}',X'fc75c2433a8abd128ad4ccfc8fdec61f45c46d1a1685e70f33a070f8ef46ce57');
INSERT INTO event VALUES(2,1795200154752683,NULL,NULL,'policy_activated','root','{"version":1,"hash":"4bb7804be33ea9aa37c41e92520934606947d61bd15fb447cbc5128df55d34c8","message":null,"author":"root","activated_us":1795200154743707}',X'446783441552f7ba0b45efa8f690f399fe0df0255c74b2fe9f4dbae2654077e2');
INSERT INTO event VALUES(10,1795200154761849,NULL,NULL,'stop','gate','{"denied":{}}',X'fc5a19544d8dd7d9c970f041a1a6ebe6fde792d9cf70c676ef4ae2c356de5b9a');
CREATE TABLE part (
    part      INTEGER PRIMARY KEY,
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    first_us  INTEGER NOT NULL, -- smallest and largest time in it
    last_us   INTEGER NOT NULL
) STRICT;
CREATE TABLE lookup (
    part  INTEGER NOT NULL,
    kind  INTEGER NOT NULL, -- 1 correlation, 2 tenant, 3 tool denied, 4 tool held, 5 tool permitted
    value TEXT NOT NULL,
    seqs  TEXT NOT NULL,    -- JSON array of decisions
    PRIMARY KEY (part, kind, value)
) STRICT, WITHOUT ROWID;
CREATE TABLE tenant_head (
    tenant TEXT PRIMARY KEY,
    seq    INTEGER NOT NULL,
    hash   BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER file_update BEFORE UPDATE ON file BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER file_delete BEFORE DELETE ON file BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER decision_delete BEFORE DELETE ON decision BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER outcome_update BEFORE UPDATE ON outcome BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER outcome_delete BEFORE DELETE ON outcome BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER event_update BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER event_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER decision_update BEFORE UPDATE OF
    seq, time_us, tenant_previous, tenant, principal, authentication, client, session, node, correlation,
    correlation_replaced, trace, upstream, dialect, protocol_version, direction, method, tool, rpc_id, arguments_bytes,
    arguments_digest, arguments_cut, arguments_redacted, begin_digest, body_bytes, body_digest, query_bytes, query_digest,
    verdict, reason, rule, rule_reason, rules, undecided, monitor, policy_version, policy_hash, judge_us, status,
    latency_us, expects_outcome, hash ON decision
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER decision_erase BEFORE UPDATE OF salt, arguments, arguments_begin ON decision
WHEN NEW.salt IS NOT NULL OR NEW.arguments IS NOT NULL OR NEW.arguments_begin IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM event AS e CROSS JOIN json_each(e.detail) AS j
                 WHERE e.kind = 'erased' AND e.tenant IS OLD.tenant AND e.seq > OLD.seq
                   AND j.key = 'before_us' AND OLD.time_us < j.value)
BEGIN SELECT RAISE(ABORT, 'values are erased only, and only after the erasure was recorded'); END;
CREATE VIEW by_correlation AS
    SELECT l.value AS correlation, j.value AS seq
    FROM part AS p CROSS JOIN lookup AS l ON l.part = p.part AND l.kind = 1 CROSS JOIN json_each(l.seqs) AS j
    UNION ALL
    SELECT correlation, seq FROM decision
    WHERE correlation IS NOT NULL AND seq > (SELECT coalesce(max(last_seq), 0) FROM part);
CREATE VIEW by_tenant AS
    SELECT l.value AS tenant, j.value AS seq
    FROM part AS p CROSS JOIN lookup AS l ON l.part = p.part AND l.kind = 2 CROSS JOIN json_each(l.seqs) AS j
    UNION ALL
    SELECT tenant, seq FROM decision
    WHERE tenant IS NOT NULL AND seq > (SELECT coalesce(max(last_seq), 0) FROM part);
CREATE VIEW by_tool AS
    SELECT l.value AS tool, 'deny' AS verdict, j.value AS seq
    FROM part AS p CROSS JOIN lookup AS l ON l.part = p.part AND l.kind = 3 CROSS JOIN json_each(l.seqs) AS j
    UNION ALL
    SELECT l.value, 'hold', j.value
    FROM part AS p CROSS JOIN lookup AS l ON l.part = p.part AND l.kind = 4 CROSS JOIN json_each(l.seqs) AS j
    UNION ALL
    SELECT l.value, 'permit', j.value
    FROM part AS p CROSS JOIN lookup AS l ON l.part = p.part AND l.kind = 5 CROSS JOIN json_each(l.seqs) AS j
    UNION ALL
    SELECT tool, verdict, seq FROM decision
    WHERE tool IS NOT NULL AND seq > (SELECT coalesce(max(last_seq), 0) FROM part);
CREATE VIEW call AS
    SELECT d.seq,
           strftime('%Y-%m-%dT%H:%M:%S', d.time_us / 1000000, 'unixepoch') || printf('.%06dZ', d.time_us % 1000000) AS time,
           d.tenant, d.principal, d.correlation, d.upstream, d.dialect, d.method, d.tool, d.arguments,
           d.verdict, d.reason, d.rule, d.policy_version,
           o.outcome,
           coalesce(o.status, d.status) AS status,
           coalesce(o.latency_us, d.latency_us) AS latency_us,
           o.reason AS outcome_reason, o.error_code, o.response_bytes, o.upstream_us,
           o.server_requests, o.server_notifications, o.server_denied, o.seq AS outcome_seq,
           d.rule_reason, d.rules, d.undecided, d.monitor, d.judge_us,
           d.authentication, d.client, lower(hex(d.session)) AS session, d.node, d.direction, d.protocol_version,
           d.rpc_id, d.trace, d.correlation_replaced, d.arguments_bytes, d.arguments_cut, d.arguments_redacted,
           d.arguments_begin, d.body_bytes, d.query_bytes, lower(hex(d.policy_hash)) AS policy_hash,
           d.expects_outcome, d.time_us
    FROM decision AS d LEFT JOIN outcome AS o ON o.decision = d.seq;
CREATE VIEW denial AS
    SELECT * FROM call WHERE verdict <> 'permit';
CREATE VIEW unfinished AS
    SELECT * FROM call WHERE expects_outcome = 1 AND outcome IS NULL;
CREATE VIEW entry AS
    SELECT seq, 'decision' AS kind, time_us, tenant, correlation, verdict || ' ' || coalesce(tool, method, '') AS what, hash
    FROM decision
    UNION ALL
    SELECT seq, 'outcome', time_us, tenant, NULL, outcome || ' of ' || decision, hash FROM outcome
    UNION ALL
    SELECT seq, 'event', time_us, tenant, NULL, kind, hash FROM event;
CREATE VIEW event_log AS
    SELECT seq,
           strftime('%Y-%m-%dT%H:%M:%S', time_us / 1000000, 'unixepoch') || printf('.%06dZ', time_us % 1000000) AS time,
           kind, actor, tenant, detail, time_us
    FROM event;
CREATE VIEW tool_use AS
    SELECT tenant, upstream, tool, count(*) AS calls,
           sum(verdict = 'permit') AS permitted, sum(verdict = 'deny') AS denied, sum(verdict = 'hold') AS held,
           sum(coalesce(outcome IN ('tool_error', 'protocol_error', 'http_error', 'upstream_failure', 'timeout'), 0)) AS failed,
           count(DISTINCT principal) AS principals,
           CAST(avg(latency_us) AS INTEGER) AS mean_latency_us, max(latency_us) AS max_latency_us,
           min(time) AS first, max(time) AS last
    FROM call WHERE tool IS NOT NULL GROUP BY tenant, upstream, tool;
CREATE VIEW tenant_day AS
    SELECT tenant, substr(time, 1, 10) AS day, count(*) AS calls,
           sum(verdict = 'permit') AS permitted, sum(verdict = 'deny') AS denied, sum(verdict = 'hold') AS held,
           count(DISTINCT principal) AS principals, count(DISTINCT tool) AS tools
    FROM call GROUP BY tenant, day;
COMMIT;
