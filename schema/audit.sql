-- SPDX-License-Identifier: Apache-2.0
--
-- The audit trail of Callgate, format 1. This is the text that the gate itself runs when it makes a new audit.db.
-- audit-format.md beside it says how the rows are chained and how to verify them without our programs; cookbook.md has fifteen
-- questions with their SQL.
--
-- For a first look:
--     sqlite3 -readonly audit.db
--     SELECT * FROM call ORDER BY seq DESC LIMIT 20;          -- what was asked, what was answered
--     SELECT * FROM denial WHERE tenant = 'acme';             -- what was refused, and why
--     SELECT * FROM event_log WHERE kind = 'policy_activated';-- who changed the rules
--     SELECT * FROM call WHERE correlation = '...';           -- what belongs to one request
--
-- All times are UTC microseconds since 1970; views show them as ISO 8601 text. `seq` orders, time only informs: a clock
-- may jump, the sequence may not.

-- ---- the chain ------------------------------------------------------------------------------------------------------
-- decision, outcome and event share one running number without gaps. Each row's hash covers the previous row's hash
-- (whichever table that is in) and every column listed above `hash`, in this order.

-- One row: what this file is. It stands before the first row of the chain and is hashed like one.
CREATE TABLE file (
    seq        INTEGER PRIMARY KEY, -- the number before the first row: 0, or the last one of the file before this
    format     INTEGER NOT NULL CHECK (format = 1),
    created_us INTEGER NOT NULL,
    id         BLOB NOT NULL,       -- 16 random bytes
    previous   BLOB,                -- head of the file before this one; NULL: this is the first
    hash       BLOB NOT NULL
) STRICT;

-- One row for every message that was judged; on disk before the message went on or the refusal went out.
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
    target               TEXT,    -- the path below the route, as it went up; NULL: the route is exact and no query came
    params_bytes         INTEGER, -- size of what stood in `params` beside name and arguments; NULL: nothing
    params_digest        BLOB,    -- SHA-256(salt || params)
    -- What an access token or a certificate said of who asks, JSON arrays of strings: what does not fit into 8 KiB is counted in a
    -- number at the end. NULL: it has none.
    groups               TEXT,
    scopes               TEXT,
    issuer               TEXT,    -- who issued the token
    token_key            TEXT,    -- the id of the key that signed it
    claims_bytes         INTEGER, -- of claims those that the policy's rules ask for, and no others: their size
    claims_digest        BLOB,    -- SHA-256(salt || claims)
    plan                 TEXT,    -- the intent plan that the call showed: SHA-256 of its signed text, hexadecimal, as in an event `plan`
    plan_step            TEXT,    -- the step of it that the call is (used where the verdict is permit); NULL: none that could be used
    definition           TEXT,    -- SHA-256, hexadecimal, of what the tool said it was when it was called; NULL: nobody knows
    api_key              INTEGER, -- number of the API key that called, as events `key_made` and `key_revoked` have it; NULL: none did
    agent                TEXT,    -- the program that acts for the principal; NULL: nothing says which
    agent_from           TEXT,    -- where that is known from
    actors               TEXT,    -- JSON: who acts for whom, as a token has it (`act` of RFC 8693)
    client_says          TEXT,    -- JSON: what the client says of itself, which nobody has verified
    via                  TEXT,    -- the tool in whose call this one stood, and which the server was asked for; NULL: it stood in none
    agent_rule           TEXT,    -- where the call needs the agent's half: the rule that gives it; empty: none; NULL: it does not need it
    hash                 BLOB NOT NULL,
    -- Outside the chain, so that they can be erased; the digests above vouch for them. They are columns and not a table
    -- of their own because a second insert costs the writer 15 % and each call 41 bytes.
    salt                 BLOB,    -- 16 random bytes
    arguments            TEXT,    -- canonical JSON
    arguments_begin      TEXT,
    params               TEXT,    -- these members as one canonical object, or its beginning (params_bytes is larger then)
    query                TEXT,    -- which `query_digest` vouches for
    claims               TEXT     -- an object of paths, each with a list of what is there, which is empty or has one value
) STRICT;

-- What came of each permit. Written when the reply was delivered; `unknown` is written at the next start for those that
-- a crash left open.
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
    answer_bytes         INTEGER, -- size of the canonical answer, where a route keeps answers
    answer_digest        BLOB,    -- SHA-256(answer_salt || answer)
    -- What the policy's rules for answers did to what came back. All NULL: nothing.
    answer_rule          TEXT,    -- the deciding one
    answer_effect        TEXT,    -- redact, withhold or flag
    answer_found         TEXT,    -- what detectors found ({"payment_card": 2}, never the text)
    answer_rules         TEXT,    -- all that applied ([{"id": ..., "effect": ...}])
    answer_undecided     TEXT,    -- what could not be decided
    response_digest_before BLOB,  -- as response_digest, of the body that came, where another one was delivered
    server_withheld      INTEGER, -- how many notifications were withheld; NULL: none
    hash                 BLOB NOT NULL,
    -- Outside the chain, so that they can be erased.
    answer_salt          BLOB,    -- its own, so that one row suffices to check the answer
    answer               TEXT     -- or its beginning
) STRICT;

-- What happened to the gate itself: start, stop, crash, reload, policy_activated, policy_text (what a version says), key_made,
-- key_revoked, audit_down, audit_up, folded, erased, hold_placed, hold_released, stop_placed, stop_lifted, retired (files were
-- given away), audit_read (who
-- reads it over the socket), clock_jumped, checkpoint, checkpoint_key (the key that signs from here on), loss_accepted,
-- heads_damaged, restored (a backup was put in place), unsigned_rows (a start took over rows that nobody had signed),
-- open_permits (names the list in head_mark, for the next start), plan (what
-- an agent was delegated, signed), sealed (the last row of a file), continued (the first of the next one) ...
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

-- Signed checkpoints: how many rows there were, and the root of the Merkle tree over their hashes. Not in the chain, so that
-- the last one covers every row; their signatures stand for them, and events `checkpoint` name one in so many.
CREATE TABLE checkpoint (
    size    INTEGER PRIMARY KEY,  -- number of the last row that it covers
    time_us INTEGER NOT NULL,
    peaks   BLOB NOT NULL,        -- what the tree goes on from at the next start
    note    TEXT NOT NULL         -- a C2SP signed note, as in audit.db.heads
) STRICT;

-- ---- nobody changes a row -------------------------------------------------------------------------------------------
-- These stop mistakes. Who has the file can drop a trigger, but not without breaking the chain.

CREATE TRIGGER file_update BEFORE UPDATE ON file BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER file_delete BEFORE DELETE ON file BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER decision_delete BEFORE DELETE ON decision BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER outcome_delete BEFORE DELETE ON outcome BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER event_update BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER event_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

CREATE TRIGGER checkpoint_update BEFORE UPDATE ON checkpoint BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER checkpoint_delete BEFORE DELETE ON checkpoint BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

CREATE TRIGGER decision_update BEFORE UPDATE OF
    seq, time_us, tenant_previous, tenant, principal, authentication, client, session, node, correlation,
    correlation_replaced, trace, upstream, dialect, protocol_version, direction, method, tool, rpc_id, arguments_bytes,
    arguments_digest, arguments_cut, arguments_redacted, begin_digest, body_bytes, body_digest, query_bytes, query_digest,
    verdict, reason, rule, rule_reason, rules, undecided, monitor, policy_version, policy_hash, judge_us, status,
    latency_us, expects_outcome, hash, target, params_bytes, params_digest, groups, scopes, issuer, token_key, claims_bytes,
    claims_digest, plan, plan_step, definition, api_key, agent, agent_from, actors, client_says, via,
    agent_rule ON decision
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

CREATE TRIGGER outcome_update BEFORE UPDATE OF
    seq, time_us, tenant_previous, tenant, decision, outcome, reason, status, error_code, response_bytes, response_digest,
    server_requests, server_notifications, server_denied, latency_us, upstream_us, hash, answer_bytes, answer_digest,
    answer_rule, answer_effect, answer_found, answer_rules, answer_undecided, response_digest_before, server_withheld ON outcome
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

-- An erasure empties all values of a row at once, after an event `erased` of the row's tenant that names a later
-- number and a later time: {"before_us": ...}. A sealed file takes no event: `erasure` says which of a later file's it is.
CREATE TRIGGER decision_erase BEFORE UPDATE OF salt, arguments, arguments_begin, params, query, claims ON decision
WHEN NEW.salt IS NOT NULL OR NEW.arguments IS NOT NULL OR NEW.arguments_begin IS NOT NULL
  OR NEW.params IS NOT NULL OR NEW.query IS NOT NULL OR NEW.claims IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM erasure AS l
                 WHERE l.tenant IS OLD.tenant AND l.seq > OLD.seq AND OLD.time_us < l.before_us)
 AND NOT EXISTS (SELECT 1 FROM event AS e CROSS JOIN json_each(e.detail) AS j
                 WHERE e.kind = 'erased' AND e.tenant IS OLD.tenant AND e.seq > OLD.seq
                   AND j.key = 'before_us' AND OLD.time_us < j.value)
BEGIN SELECT RAISE(ABORT, 'values are erased only, and only after the erasure was recorded'); END;

CREATE TRIGGER outcome_erase BEFORE UPDATE OF answer_salt, answer ON outcome
WHEN NEW.answer_salt IS NOT NULL OR NEW.answer IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM erasure AS l
                 WHERE l.tenant IS OLD.tenant AND l.seq > OLD.seq AND OLD.time_us < l.before_us)
 AND NOT EXISTS (SELECT 1 FROM event AS e CROSS JOIN json_each(e.detail) AS j
                 WHERE e.kind = 'erased' AND e.tenant IS OLD.tenant AND e.seq > OLD.seq
                   AND j.key = 'before_us' AND OLD.time_us < j.value)
BEGIN SELECT RAISE(ABORT, 'values are erased only, and only after the erasure was recorded'); END;

-- ---- what a file takes over from the one before it ------------------------------------------------------------------

-- The last row of each tenant before this file's first one; empty in the first file of a log.
CREATE TABLE tenant_start (
    tenant TEXT PRIMARY KEY,
    seq    INTEGER NOT NULL,
    hash   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Where this file stood at a checkpoint: a start reads the rows behind it. No evidence: it is believed where the tree over what
-- tenant_start and tenant_head say is the one that the note of that checkpoint bears. These two tables change.
CREATE TABLE tenant_head (
    tenant TEXT PRIMARY KEY,      -- that has rows in this file
    seq    INTEGER NOT NULL,      -- its last one up to the checkpoint
    hash   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE head_mark (
    size INTEGER PRIMARY KEY,     -- of the checkpoint; one row
    tip  INTEGER NOT NULL,        -- number of the last row when it was written
    open TEXT NOT NULL            -- "open", and the numbers of the permits that had no outcome then
) STRICT;

-- Permits of the files before this one that had no outcome when it began: theirs stand here, or in a file behind it.
CREATE TABLE permit_start (
    decision INTEGER PRIMARY KEY,
    tenant   TEXT
) STRICT;

-- Events `erased` that reach into this file; once it is sealed, those of files behind it. They are the evidence, not these rows.
CREATE TABLE erasure (
    seq       INTEGER PRIMARY KEY, -- the event's
    tenant    TEXT,
    before_us INTEGER NOT NULL
) STRICT;

-- ---- finding rows ---------------------------------------------------------------------------------------------------
-- The file that is written has no index but that of `outcome.decision`, which only grows at its end: it is small, and looked
-- through in tenths of a second. Once a file is sealed, the gate gives it the indices of indices.sql, which every query and every
-- view uses by itself: name the columns, as in WHERE correlation = '...', and no more. Indices are not evidence.

-- ---- views for people -----------------------------------------------------------------------------------------------

-- DuckDB's scanner parses each of these and hands SQLite its own wording, so that none says NOT INDEXED, IS NOT of a text or
-- count(*): one that it cannot word would keep all of the file from being listed there.

-- One row a decision, with what came of it. Outcome `carried`: the file was sealed while the call was under way, and what came of
-- it stands in a file behind this one, whose view `carried` lists it. NULL with expects_outcome = 1: nothing came of it yet.
CREATE VIEW call AS
    SELECT d.seq,
           strftime('%Y-%m-%dT%H:%M:%S', d.time_us / 1000000, 'unixepoch') || printf('.%06dZ', d.time_us % 1000000) AS time,
           d.tenant, d.principal, d.correlation, d.upstream, d.dialect, d.method, d.tool, d.arguments,
           d.verdict, d.reason, d.rule, d.policy_version,
           CASE WHEN o.outcome IS NULL AND d.expects_outcome = 1 AND (SELECT kind FROM event ORDER BY seq DESC LIMIT 1) = 'sealed'
                THEN 'carried' ELSE o.outcome END AS outcome,
           coalesce(o.status, d.status) AS status,
           coalesce(o.latency_us, d.latency_us) AS latency_us,
           o.reason AS outcome_reason, o.error_code, o.response_bytes, o.upstream_us,
           o.server_requests, o.server_notifications, o.server_denied, o.seq AS outcome_seq,
           d.rule_reason, d.rules, d.undecided, d.monitor, d.judge_us,
           d.authentication, d.client, nullif(lower(hex(d.session)), '') AS session, d.node, d.direction, d.protocol_version,
           d.rpc_id, d.trace, d.correlation_replaced, d.arguments_bytes, d.arguments_cut, d.arguments_redacted,
           d.arguments_begin, d.body_bytes, d.query_bytes, nullif(lower(hex(d.policy_hash)), '') AS policy_hash,
           d.expects_outcome, d.time_us, d.target, d.query, d.params, d.params_bytes, o.answer, o.answer_bytes,
           d.groups, d.scopes, d.issuer, d.token_key, d.claims, d.claims_bytes, d.plan, d.plan_step,
           d.definition, d.api_key, d.agent, d.agent_from, d.actors, d.client_says, d.via, d.agent_rule,
           o.answer_rule, o.answer_effect, o.answer_found, o.answer_rules, o.answer_undecided, o.server_withheld
    FROM decision AS d LEFT JOIN outcome AS o ON o.decision = d.seq;

-- What was not permitted and has a row. Of a flood the rest is counted in events `folded` (audit-format.md).
CREATE VIEW denial AS
    SELECT * FROM call WHERE verdict <> 'permit';

-- Permits that nothing came of yet: calls under way, or what a crash left open until the next start. A sealed file has none.
CREATE VIEW unfinished AS
    SELECT * FROM call WHERE expects_outcome = 1 AND outcome IS NULL;

-- Permits of the files before this one that were under way when it began, and what came of them; outcome NULL: nothing here yet.
CREATE VIEW carried AS
    SELECT p.decision, p.tenant, o.outcome, o.seq AS outcome_seq, o.status, o.latency_us
    FROM permit_start AS p LEFT JOIN outcome AS o ON o.decision = p.decision;

-- Everything in the order in which it was written. A number missing here is a missing row.
CREATE VIEW entry AS
    SELECT seq, 'decision' AS kind, time_us, tenant, correlation, verdict || ' ' || coalesce(tool, method, '') AS what, hash
    FROM decision
    UNION ALL
    SELECT seq, 'outcome', time_us, tenant, NULL, outcome || ' of ' || decision, hash FROM outcome
    UNION ALL
    SELECT seq, 'event', time_us, tenant, NULL, kind, hash FROM event;

-- The texts of policies that were loaded, by the SHA-256 that `policy_activated` names: told once, in pieces.
CREATE VIEW policy_text AS
    SELECT sha256, group_concat(text, '') AS text
    FROM (SELECT DISTINCT json_extract(detail, '$.sha256') AS sha256, json_extract(detail, '$.part') AS part,
                 json_extract(detail, '$.text') AS text
          FROM event WHERE kind = 'policy_text' ORDER BY 1, 2)
    GROUP BY sha256;

CREATE VIEW event_log AS
    SELECT seq,
           strftime('%Y-%m-%dT%H:%M:%S', time_us / 1000000, 'unixepoch') || printf('.%06dZ', time_us % 1000000) AS time,
           kind, actor, tenant, detail, time_us
    FROM event;

-- Who uses which tool, and how it goes. Reads every call and every outcome, whatever is asked: some two seconds of CPU for a
-- million calls, and all their pages from the disk where they are not in memory (700 MB). In the table's order: what bears a
-- plus is taken from no index.
CREATE VIEW tool_use AS
    SELECT tenant, upstream, tool, calls, permitted, denied, held, failed, principals, mean_latency_us, max_latency_us,
           strftime('%Y-%m-%dT%H:%M:%S', first_us / 1000000, 'unixepoch') || printf('.%06dZ', first_us % 1000000) AS first,
           strftime('%Y-%m-%dT%H:%M:%S', last_us / 1000000, 'unixepoch') || printf('.%06dZ', last_us % 1000000) AS last
    FROM (SELECT d.tenant, d.upstream, d.tool, count(d.seq) AS calls,
                 sum(d.verdict = 'permit') AS permitted, sum(d.verdict = 'deny') AS denied, sum(d.verdict = 'hold') AS held,
                 sum(coalesce(o.outcome IN ('tool_error', 'protocol_error', 'http_error', 'upstream_failure', 'timeout', 'refused',
                                            'unknown'), 0)) AS failed,
                 count(DISTINCT d.principal) AS principals,
                 CAST(avg(coalesce(o.latency_us, d.latency_us)) AS INTEGER) AS mean_latency_us,
                 max(coalesce(o.latency_us, d.latency_us)) AS max_latency_us,
                 min(d.time_us) AS first_us, max(d.time_us) AS last_us
          FROM decision AS d LEFT JOIN outcome AS o ON o.decision = d.seq
          WHERE +d.tool IS NOT NULL GROUP BY +d.tenant, +d.upstream, +d.tool);

-- How much each tenant does, by day (UTC). Reads every decision, also where a day or a tenant is asked for, and no outcomes: a
-- second or so of CPU for a million, and their pages. Denials that were folded are in events `folded` alone.
CREATE VIEW tenant_day AS
    SELECT tenant, strftime('%Y-%m-%d', time_us / 1000000, 'unixepoch') AS day, count(seq) AS calls,
           sum(verdict = 'permit') AS permitted, sum(verdict = 'deny') AS denied, sum(verdict = 'hold') AS held,
           count(DISTINCT principal) AS principals, count(DISTINCT tool) AS tools
    FROM decision GROUP BY +tenant, day;
