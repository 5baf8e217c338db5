-- SPDX-License-Identifier: Apache-2.0
--
-- The store of Callgate, callgate.db: policies, keys, calls that wait, definitions. This is the text that the gate itself runs
-- when it makes a new one. What people did is append-only, so that the audit is told of each row exactly once.
--
-- All times are UTC microseconds since 1970.

-- ---- what the gate itself remembers --------------------------------------------------------------------------------

CREATE TABLE secret (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

CREATE TABLE told ( -- the audit knows of every row of `name` up to this id
    name TEXT PRIMARY KEY,
    id   INTEGER NOT NULL
) STRICT;

CREATE TABLE restoration ( -- by callgate restore; the audit is told of it
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    backup_made TEXT NOT NULL,
    restored_us INTEGER NOT NULL,
    restored_by TEXT NOT NULL,
    why         TEXT NOT NULL
) STRICT;
CREATE TRIGGER restoration_stays BEFORE UPDATE ON restoration BEGIN SELECT raise(ABORT, 'restorations are append-only'); END;
CREATE TRIGGER restoration_remains BEFORE DELETE ON restoration BEGIN SELECT raise(ABORT, 'restorations are append-only'); END;

-- ---- policies ------------------------------------------------------------------------------------------------------

CREATE TABLE policy_version (
    version       INTEGER PRIMARY KEY AUTOINCREMENT,
    created_us    INTEGER NOT NULL,
    author        TEXT NOT NULL,
    message       TEXT,
    hash          TEXT NOT NULL CHECK (length(hash) = 64), -- of the set, see policy/snapshot.c
    failing_tests INTEGER NOT NULL DEFAULT 0,
    despite       TEXT -- why it is stored all the same
) STRICT;

CREATE TABLE policy_file (
    version INTEGER NOT NULL REFERENCES policy_version(version),
    name    TEXT NOT NULL,
    path    TEXT NOT NULL,
    text    TEXT NOT NULL,
    sha256  TEXT NOT NULL CHECK (length(sha256) = 64),
    PRIMARY KEY (version, name)
) STRICT;

CREATE TABLE policy_activation (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    version      INTEGER NOT NULL REFERENCES policy_version(version),
    activated_us INTEGER NOT NULL,
    activated_by TEXT NOT NULL,
    message      TEXT -- why
) STRICT;
CREATE INDEX policy_activation_of ON policy_activation(version);
CREATE TRIGGER policy_version_stays BEFORE UPDATE ON policy_version
    BEGIN SELECT raise(ABORT, 'policy versions are immutable'); END;
CREATE TRIGGER policy_version_remains BEFORE DELETE ON policy_version
    BEGIN SELECT raise(ABORT, 'policy versions are immutable'); END;
CREATE TRIGGER policy_file_stays BEFORE UPDATE ON policy_file BEGIN SELECT raise(ABORT, 'policy versions are immutable'); END;
CREATE TRIGGER policy_file_remains BEFORE DELETE ON policy_file BEGIN SELECT raise(ABORT, 'policy versions are immutable'); END;
CREATE TRIGGER policy_activation_stays BEFORE UPDATE ON policy_activation
    BEGIN SELECT raise(ABORT, 'activations are append-only'); END;
CREATE TRIGGER policy_activation_remains BEFORE DELETE ON policy_activation
    BEGIN SELECT raise(ABORT, 'activations are append-only'); END;

-- ---- keys of agents and people -------------------------------------------------------------------------------------

-- A key of a person's opens no route, and an agent's gives no command: each is looked for among its own.
CREATE TABLE agent_key (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    digest     BLOB NOT NULL UNIQUE CHECK (length(digest) = 32), -- SHA-256 of the key
    principal  TEXT NOT NULL,
    tenant     TEXT NOT NULL,
    agent      TEXT, -- the program that acts by it for the principal; NULL: not said
    expires_us INTEGER, -- UTC microseconds; NULL: never
    note       TEXT,
    roles      TEXT, -- of a person's, blank-separated; NULL: it is an agent's
    made_us    INTEGER NOT NULL,
    made_by    TEXT NOT NULL
) STRICT;

CREATE TABLE agent_key_claim (
    key  INTEGER NOT NULL REFERENCES agent_key(id),
    glob TEXT NOT NULL,
    PRIMARY KEY (key, glob)
) STRICT;

CREATE TABLE agent_key_revocation (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    key        INTEGER NOT NULL UNIQUE REFERENCES agent_key(id),
    revoked_us INTEGER NOT NULL,
    revoked_by TEXT NOT NULL,
    why        TEXT
) STRICT;
CREATE TRIGGER agent_key_stays BEFORE UPDATE ON agent_key BEGIN SELECT raise(ABORT, 'keys are append-only'); END;
CREATE TRIGGER agent_key_remains BEFORE DELETE ON agent_key BEGIN SELECT raise(ABORT, 'keys are append-only'); END;
CREATE TRIGGER agent_key_claim_stays BEFORE UPDATE ON agent_key_claim BEGIN SELECT raise(ABORT, 'keys are append-only'); END;
CREATE TRIGGER agent_key_claim_remains BEFORE DELETE ON agent_key_claim BEGIN SELECT raise(ABORT, 'keys are append-only'); END;
CREATE TRIGGER agent_key_revocation_stays BEFORE UPDATE ON agent_key_revocation
    BEGIN SELECT raise(ABORT, 'revocations are append-only'); END;
CREATE TRIGGER agent_key_revocation_remains BEFORE DELETE ON agent_key_revocation
    BEGIN SELECT raise(ABORT, 'revocations are append-only'); END;

-- ---- calls that wait for a person ----------------------------------------------------------------------------------

-- approval_held refers to no other table, so that emptying it clears its pages at once; `bytes` stands before what is
-- long, so that adding up reads no more than that. An approval that needs more people decides nothing yet, so that the
-- view shows no answer.
CREATE TABLE approval_ask (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    digest          BLOB NOT NULL CHECK (length(digest) = 32), -- HMAC over all that it is bound to
    tenant          TEXT NOT NULL,
    principal       TEXT NOT NULL,
    agent           TEXT, -- the program that asks for the principal; NULL: nothing says which
    authentication  TEXT NOT NULL, -- how the principal was shown
    upstream        TEXT NOT NULL,
    method          TEXT NOT NULL,
    tool            TEXT, -- or the prompt's name, the resource's URI
    via             TEXT, -- the tool in whose call it stood; NULL: it stood in none
    target          TEXT, -- the path below the route; NULL: it has none
    arguments_bytes INTEGER NOT NULL,
    redacted        TEXT, -- what of it the audit does not show
    rule            TEXT NOT NULL,
    rule_hash       BLOB NOT NULL,
    rule_reason     TEXT,
    needed          INTEGER NOT NULL CHECK (needed > 0), -- people
    approvers       TEXT, -- by whose names, a line each; NULL: whoever may decide at all
    policy_version  INTEGER NOT NULL,
    client          TEXT,
    correlation     TEXT,
    gate            TEXT NOT NULL, -- which gate's audit holds the decision
    decision        INTEGER NOT NULL,
    asked_us        INTEGER NOT NULL
) STRICT;
CREATE INDEX approval_ask_digest ON approval_ask(digest);

CREATE TABLE approval_held ( -- what can be erased; a call may have a query and no arguments
    ask       INTEGER PRIMARY KEY,
    bytes     INTEGER NOT NULL,
    arguments TEXT,
    query     TEXT,
    params    TEXT -- what stands in params beside name and arguments
) STRICT;

CREATE TABLE approval_seen ( -- when, where and how often it was asked for; changes
    ask      INTEGER PRIMARY KEY REFERENCES approval_ask(id),
    gate     TEXT NOT NULL,
    decision INTEGER NOT NULL,
    session  TEXT, -- as the audit has it; NULL: the agent named none
    seen_us  INTEGER NOT NULL,
    times    INTEGER NOT NULL
) STRICT;
CREATE INDEX approval_seen_us ON approval_seen(seen_us);

CREATE TABLE approval_answer (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    ask      INTEGER NOT NULL REFERENCES approval_ask(id),
    granted  INTEGER NOT NULL CHECK (granted IN (0, 1)),
    given_us INTEGER NOT NULL,
    until_us INTEGER NOT NULL,
    given_by TEXT NOT NULL,
    login    TEXT NOT NULL, -- the account that gave the command
    account  INTEGER NOT NULL, -- the machine's number of it
    person   TEXT, -- who has shown so; NULL: only the account is known
    known    TEXT, -- the names that nobody else has, a line each
    why      TEXT,
    unseen   INTEGER NOT NULL CHECK (unseen IN (0, 1)), -- not all of it could be looked at, which who granted it said
    counted  INTEGER NOT NULL, -- people who approve it, with this one
    holds_us INTEGER -- until when it is decided by this; NULL: it decides nothing
) STRICT;
CREATE INDEX approval_answer_ask ON approval_answer(ask);
CREATE INDEX approval_answer_until ON approval_answer(until_us);

CREATE TABLE approval_claim ( -- with which gate an approval is; changes
    ask       INTEGER PRIMARY KEY REFERENCES approval_ask(id),
    gate      TEXT NOT NULL,
    since_us  INTEGER NOT NULL,
    audit_seq INTEGER NOT NULL -- up to this number of its audit it was not used
) STRICT;

CREATE TABLE approval_use (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    ask      INTEGER NOT NULL UNIQUE REFERENCES approval_ask(id),
    gate     TEXT NOT NULL,
    decision INTEGER, -- NULL: nobody can know
    used_us  INTEGER NOT NULL
) STRICT;
CREATE TRIGGER approval_ask_stays BEFORE UPDATE ON approval_ask BEGIN SELECT raise(ABORT, 'asks are append-only'); END;
CREATE TRIGGER approval_ask_remains BEFORE DELETE ON approval_ask BEGIN SELECT raise(ABORT, 'asks are append-only'); END;
CREATE TRIGGER approval_answer_stays BEFORE UPDATE ON approval_answer BEGIN SELECT raise(ABORT, 'answers are append-only'); END;
CREATE TRIGGER approval_answer_remains BEFORE DELETE ON approval_answer
    BEGIN SELECT raise(ABORT, 'answers are append-only'); END;
CREATE TRIGGER approval_use_stays BEFORE UPDATE ON approval_use BEGIN SELECT raise(ABORT, 'uses are append-only'); END;
CREATE TRIGGER approval_use_remains BEFORE DELETE ON approval_use BEGIN SELECT raise(ABORT, 'uses are append-only'); END;
CREATE VIEW approval AS SELECT a.id, a.digest, a.rule_hash, a.tenant, a.principal, a.agent, a.upstream, a.method, a.tool,
    a.via, a.target, t.arguments, t.query, t.params, a.rule, a.rule_reason, a.client, a.correlation, a.arguments_bytes, a.redacted,
    a.authentication, a.needed, a.approvers, a.policy_version, a.gate, a.decision, a.asked_us, s.gate AS seen_gate,
    s.decision AS seen_decision, s.session, s.seen_us, s.times, w.granted, w.given_us, w.holds_us AS until_us, w.given_by, w.login,
    w.why, c.gate AS claimed_by, u.used_us, u.decision AS used_decision, u.gate AS used_by
FROM approval_ask a JOIN approval_seen s ON s.ask = a.id LEFT JOIN approval_held t ON t.ask = a.id
LEFT JOIN approval_answer w ON w.id = (SELECT max(id) FROM approval_answer WHERE ask = a.id AND holds_us IS NOT NULL)
LEFT JOIN approval_claim c ON c.ask = a.id LEFT JOIN approval_use u ON u.ask = a.id;

-- ---- what people ask of the audit ----------------------------------------------------------------------------------

CREATE TABLE audit_request (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    audit     TEXT NOT NULL, -- which: several gates on one store have one each
    kind      TEXT NOT NULL CHECK (kind IN ('archive', 'erase')),
    tenant    TEXT,
    before_us INTEGER,
    asked_us  INTEGER NOT NULL,
    asked_by  TEXT NOT NULL,
    why       TEXT
) STRICT;

CREATE TABLE audit_answer (
    request     INTEGER PRIMARY KEY REFERENCES audit_request(id),
    done        INTEGER NOT NULL,
    text        TEXT NOT NULL,
    answered_us INTEGER NOT NULL
) STRICT;
CREATE TRIGGER audit_request_stays BEFORE UPDATE ON audit_request BEGIN SELECT raise(ABORT, 'requests are append-only'); END;
CREATE TRIGGER audit_request_remains BEFORE DELETE ON audit_request BEGIN SELECT raise(ABORT, 'requests are append-only'); END;
CREATE TRIGGER audit_answer_stays BEFORE UPDATE ON audit_answer BEGIN SELECT raise(ABORT, 'answers are append-only'); END;
CREATE TRIGGER audit_answer_remains BEFORE DELETE ON audit_answer BEGIN SELECT raise(ABORT, 'answers are append-only'); END;

CREATE TABLE audit_reading (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    audit    TEXT NOT NULL,
    command  TEXT NOT NULL,
    tenants  TEXT, -- JSON; NULL: all
    asked_us INTEGER NOT NULL,
    asked_by TEXT NOT NULL
) STRICT;

CREATE TABLE audit_retirement (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    audit      TEXT NOT NULL,
    first      INTEGER NOT NULL,
    last       INTEGER NOT NULL,
    retired_us INTEGER NOT NULL,
    retired_by TEXT NOT NULL,
    why        TEXT NOT NULL,
    shipped    INTEGER -- up to this row the fleet's centre had the trail; NULL: the gate had no fleet
) STRICT;
CREATE TRIGGER audit_reading_stays BEFORE UPDATE ON audit_reading BEGIN SELECT raise(ABORT, 'readings are append-only'); END;
CREATE TRIGGER audit_reading_remains BEFORE DELETE ON audit_reading BEGIN SELECT raise(ABORT, 'readings are append-only'); END;
CREATE TRIGGER audit_retirement_stays BEFORE UPDATE ON audit_retirement
    BEGIN SELECT raise(ABORT, 'retirements are append-only'); END;
CREATE TRIGGER audit_retirement_remains BEFORE DELETE ON audit_retirement
    BEGIN SELECT raise(ABORT, 'retirements are append-only'); END;

-- ---- what no erasure may take --------------------------------------------------------------------------------------

CREATE TABLE audit_hold (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant    TEXT, -- NULL: of any
    principal TEXT, -- likewise
    since_us  INTEGER, -- NULL: without that bound
    until_us  INTEGER,
    held_us   INTEGER NOT NULL,
    held_by   TEXT NOT NULL,
    why       TEXT NOT NULL
) STRICT;

CREATE TABLE audit_hold_release (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    hold        INTEGER NOT NULL UNIQUE REFERENCES audit_hold(id),
    released_us INTEGER NOT NULL,
    released_by TEXT NOT NULL,
    why         TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_hold_stays BEFORE UPDATE ON audit_hold BEGIN SELECT raise(ABORT, 'holds are append-only'); END;
CREATE TRIGGER audit_hold_remains BEFORE DELETE ON audit_hold BEGIN SELECT raise(ABORT, 'holds are append-only'); END;
CREATE TRIGGER audit_hold_release_stays BEFORE UPDATE ON audit_hold_release
    BEGIN SELECT raise(ABORT, 'releases are append-only'); END;
CREATE TRIGGER audit_hold_release_remains BEFORE DELETE ON audit_hold_release
    BEGIN SELECT raise(ABORT, 'releases are append-only'); END;

-- ---- what people stop, whatever the policy says -----------------------------------------------------------------------

CREATE TABLE stop (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    mark      TEXT NOT NULL UNIQUE, -- random: by this all nodes of a fleet know it, whose numbers are each store's own
    tenant    TEXT, -- NULL: of any; so with the next five. Where all are, it is of every call
    principal TEXT,
    agent     TEXT,
    upstream  TEXT,
    tool      TEXT,
    session   TEXT, -- as the audit has it
    until_us  INTEGER, -- NULL: until somebody ends it
    made_us   INTEGER NOT NULL,
    made_by   TEXT NOT NULL,
    rule      TEXT, -- of the policy's that made it; NULL: a person did
    why       TEXT NOT NULL
) STRICT;

CREATE TABLE stop_end (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    mark     TEXT NOT NULL UNIQUE REFERENCES stop(mark),
    ended_us INTEGER NOT NULL,
    ended_by TEXT NOT NULL,
    why      TEXT NOT NULL
) STRICT;
CREATE TRIGGER stop_stays BEFORE UPDATE ON stop BEGIN SELECT raise(ABORT, 'stops are append-only'); END;
CREATE TRIGGER stop_remains BEFORE DELETE ON stop BEGIN SELECT raise(ABORT, 'stops are append-only'); END;
CREATE TRIGGER stop_end_stays BEFORE UPDATE ON stop_end BEGIN SELECT raise(ABORT, 'ends of stops are append-only'); END;
CREATE TRIGGER stop_end_remains BEFORE DELETE ON stop_end BEGIN SELECT raise(ABORT, 'ends of stops are append-only'); END;

-- ---- people's own accounts at servers -------------------------------------------------------------------------------

CREATE TABLE account ( -- a person has let the gate act in his name at an upstream
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant    TEXT NOT NULL,
    principal TEXT NOT NULL,
    upstream  TEXT NOT NULL,
    login     TEXT NOT NULL, -- the issuer by whose login he is that principal: another's may call somebody else so
    client    TEXT NOT NULL, -- as which the gate is known to the provider
    issuer    TEXT NOT NULL, -- of the provider
    scopes    TEXT, -- that it gave; NULL: it does not say
    made_us   INTEGER NOT NULL,
    made_by   TEXT NOT NULL
) STRICT;
CREATE INDEX account_whose ON account(tenant, principal, upstream);

CREATE TABLE account_end (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    account  INTEGER NOT NULL UNIQUE REFERENCES account(id),
    ended_us INTEGER NOT NULL,
    ended_by TEXT NOT NULL, -- "gate": the provider takes its token no more, or somebody has connected anew
    why      TEXT NOT NULL
) STRICT;

CREATE TABLE account_token ( -- of an account that has not ended: for which the provider gives newer tokens; changes
    account    INTEGER PRIMARY KEY REFERENCES account(id),
    key        TEXT NOT NULL, -- the name of the key in accounts.key with which it is sealed
    sealed     BLOB NOT NULL, -- AES-256-GCM, bound to tenant, principal, upstream, login, client and issuer
    changed_us INTEGER NOT NULL,
    asker      TEXT, -- the gate that asks the provider now; NULL: none does
    asks_until_us INTEGER
) STRICT;

CREATE TABLE account_ask ( -- a person who is about to connect, one a person and upstream; changes
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant    TEXT NOT NULL,
    principal TEXT NOT NULL,
    upstream  TEXT NOT NULL,
    login     TEXT NOT NULL,
    person    TEXT NOT NULL, -- as the audit names him
    browser   TEXT NOT NULL, -- SHA-256, by which his browser is known again
    phase     TEXT NOT NULL CHECK (phase IN ('asked', 'begun', 'brought', 'exchanged', 'done', 'failed')),
    asked_us  INTEGER NOT NULL,
    state     TEXT UNIQUE, -- SHA-256 of what the provider sends back; NULL: the gate has not answered yet; so with the next three
    key       TEXT,
    sealed    BLOB, -- what PKCE proves
    url       TEXT, -- where the browser goes; NULL once somebody has read it
    code      TEXT, -- that the browser brought back, until it was shown to the provider
    said_by   TEXT, -- who answered, as the browser says (RFC 9207)
    problem   TEXT, -- why it failed
    UNIQUE (tenant, principal, upstream)
) STRICT;

CREATE TRIGGER account_stays BEFORE UPDATE ON account BEGIN SELECT raise(ABORT, 'accounts are append-only'); END;
CREATE TRIGGER account_remains BEFORE DELETE ON account BEGIN SELECT raise(ABORT, 'accounts are append-only'); END;
CREATE TRIGGER account_end_stays BEFORE UPDATE ON account_end BEGIN SELECT raise(ABORT, 'ends of accounts are append-only'); END;
CREATE TRIGGER account_end_remains BEFORE DELETE ON account_end BEGIN SELECT raise(ABORT, 'ends of accounts are append-only'); END;

-- ---- the fleet: many gates with one policy --------------------------------------------------------------------------

CREATE TABLE fleet_state ( -- what the courier has last heard of the centre, by which the gate goes; changes
    name  TEXT PRIMARY KEY,
    value ANY NOT NULL -- a number or a text
) STRICT;

CREATE TABLE fleet_witness ( -- what this node, as its witness, has seen last of another one's checkpoints; changes
    node   TEXT PRIMARY KEY,
    origin TEXT NOT NULL, -- of its log
    size   INTEGER NOT NULL, -- of that checkpoint
    root   BLOB NOT NULL,
    peaks  BLOB NOT NULL -- of its tree
) STRICT;

CREATE TABLE fleet_fork ( -- nodes of which there are two records: this one, which denies from then on, or one whose witness it is
    id       INTEGER PRIMARY KEY,
    node     TEXT NOT NULL,
    told_by  TEXT NOT NULL, -- the node itself, or its witness
    seq      INTEGER NOT NULL, -- row, or checkpoint over so many, from where they differ
    what     TEXT NOT NULL, -- a sentence, or empty
    heard_us INTEGER NOT NULL
) STRICT;
CREATE TRIGGER fleet_fork_stays BEFORE UPDATE ON fleet_fork BEGIN SELECT raise(ABORT, 'forks are append-only'); END;
CREATE TRIGGER fleet_fork_remains BEFORE DELETE ON fleet_fork BEGIN SELECT raise(ABORT, 'forks are append-only'); END;

-- What people here decided for all nodes. The courier makes a change of each row, signs it and puts it to the centre; it
-- counts here when it comes from there, as on every node.
CREATE TABLE fleet_outbox (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    kind     TEXT NOT NULL,
    rows     TEXT NOT NULL, -- JSON: {table: [{column: value}]}
    onto     INTEGER NOT NULL, -- the version that was active
    without  TEXT, -- nodes that need not have compiled it, a line each
    asked_us INTEGER NOT NULL,
    asked_by TEXT NOT NULL
) STRICT;

CREATE TABLE fleet_outbox_end (
    outbox   INTEGER PRIMARY KEY REFERENCES fleet_outbox(id),
    change   INTEGER, -- the number that it got; NULL: it was refused
    id       INTEGER, -- of the first thing that it made; NULL: none has one
    problem  TEXT, -- why
    ended_us INTEGER NOT NULL
) STRICT;

CREATE TABLE fleet_change ( -- that this node has taken, in their order and without a gap
    number    INTEGER PRIMARY KEY,
    text      BLOB NOT NULL, -- canonical JSON, as it was signed
    signature BLOB NOT NULL CHECK (length(signature) = 64),
    hash      BLOB NOT NULL CHECK (length(hash) = 32), -- SHA-256 of text
    node      TEXT NOT NULL, -- whose command it was
    outbox    INTEGER NOT NULL, -- which of that node's; 0: none
    taken_us  INTEGER NOT NULL
) STRICT;
CREATE INDEX fleet_change_outbox ON fleet_change(node, outbox);
-- What every node of the fleet is to erase. Each makes of it a request to its own audit, whose event is the ground of the centre's erasure.
CREATE TABLE fleet_erasure (
    tenant    TEXT NOT NULL,
    before_us INTEGER NOT NULL,
    asked_us  INTEGER NOT NULL,
    asked_by  TEXT NOT NULL,
    why       TEXT NOT NULL
) STRICT;
CREATE TRIGGER fleet_erasure_stays BEFORE UPDATE ON fleet_erasure BEGIN SELECT raise(ABORT, 'erasures are append-only'); END;
CREATE TRIGGER fleet_erasure_remains BEFORE DELETE ON fleet_erasure BEGIN SELECT raise(ABORT, 'erasures are append-only'); END;

CREATE TABLE fleet_refusal ( -- what the centre showed and no node takes; the audit is told of it
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    change     INTEGER NOT NULL, -- behind which this node took nothing
    why        TEXT NOT NULL,
    refused_us INTEGER NOT NULL
) STRICT;
CREATE TRIGGER fleet_refusal_stays BEFORE UPDATE ON fleet_refusal BEGIN SELECT raise(ABORT, 'refusals are append-only'); END;
CREATE TRIGGER fleet_refusal_remains BEFORE DELETE ON fleet_refusal BEGIN SELECT raise(ABORT, 'refusals are append-only'); END;
CREATE TABLE fleet_roster ( -- the newest that this node has seen: it takes none of a lower number
    number    INTEGER PRIMARY KEY,
    text      BLOB NOT NULL,
    signature BLOB NOT NULL CHECK (length(signature) = 64)
) STRICT;
CREATE TRIGGER fleet_outbox_stays BEFORE UPDATE ON fleet_outbox BEGIN SELECT raise(ABORT, 'the outbox is append-only'); END;
CREATE TRIGGER fleet_outbox_remains BEFORE DELETE ON fleet_outbox BEGIN SELECT raise(ABORT, 'the outbox is append-only'); END;
CREATE TRIGGER fleet_outbox_end_stays BEFORE UPDATE ON fleet_outbox_end
    BEGIN SELECT raise(ABORT, 'the outbox is append-only'); END;
CREATE TRIGGER fleet_outbox_end_remains BEFORE DELETE ON fleet_outbox_end
    BEGIN SELECT raise(ABORT, 'the outbox is append-only'); END;
CREATE TRIGGER fleet_change_stays BEFORE UPDATE ON fleet_change BEGIN SELECT raise(ABORT, 'changes are append-only'); END;
CREATE TRIGGER fleet_change_remains BEFORE DELETE ON fleet_change BEGIN SELECT raise(ABORT, 'changes are append-only'); END;

-- Held calls of the whole fleet. A row here says whose an ask is: the node that held the call, and its number there; so of answers.
CREATE TABLE fleet_ask (
    ask    INTEGER PRIMARY KEY REFERENCES approval_ask(id),
    node   TEXT NOT NULL,
    number INTEGER NOT NULL,
    UNIQUE (node, number)
) STRICT;

CREATE TABLE fleet_answer (
    answer INTEGER PRIMARY KEY REFERENCES approval_answer(id),
    node   TEXT NOT NULL,
    number INTEGER NOT NULL,
    UNIQUE (node, number)
) STRICT;

CREATE TABLE fleet_word ( -- what this node tells the others of them, in this order
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    kind   TEXT NOT NULL CHECK (kind IN ('ask', 'answer', 'use')),
    of     INTEGER NOT NULL, -- an approval_ask or an approval_answer
    number INTEGER, -- that it got at the centre; NULL: it is not there yet
    UNIQUE (kind, of)
) STRICT;

CREATE TABLE fleet_heard ( -- the last word that was heard of a node; changes
    node   TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT;

-- What this gate wants to use, which the courier asks the centre for: it makes an approval_claim of it. Changes.
CREATE TABLE fleet_wish (
    ask       INTEGER PRIMARY KEY REFERENCES approval_ask(id),
    gate      TEXT NOT NULL,
    since_us  INTEGER NOT NULL,
    audit_seq INTEGER NOT NULL
) STRICT;

-- ---- tools that servers listed -------------------------------------------------------------------------------------

CREATE TABLE listed_tool (
    upstream TEXT NOT NULL,
    tool     TEXT NOT NULL,
    PRIMARY KEY (upstream, tool)
) STRICT, WITHOUT ROWID;

-- ---- definitions of tools, and what people say of them -------------------------------------------------------------

-- `share` and `bytes` stand in an index by which room is counted, so that long texts are not read for it. What
-- somebody spoke of cannot be deleted: its words refer to it.
CREATE TABLE definition (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    upstream TEXT NOT NULL,
    tool     TEXT NOT NULL,
    digest   TEXT NOT NULL CHECK (length(digest) = 64), -- SHA-256 of body, hexadecimal; 0: DEFINITION_UNKEPT
    share    TEXT NOT NULL,
    bytes    INTEGER NOT NULL,
    before   TEXT, -- what the upstream had told of the tool before; NULL: nothing
    told_us  INTEGER NOT NULL,
    body     TEXT NOT NULL,
    UNIQUE (upstream, tool, digest)
) STRICT;
CREATE INDEX definition_share ON definition(share, told_us, bytes);

CREATE TABLE definition_seen (
    definition INTEGER PRIMARY KEY REFERENCES definition(id) ON DELETE CASCADE,
    seen_us    INTEGER NOT NULL -- last, within an hour
) STRICT;

CREATE TABLE definition_word (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    definition INTEGER NOT NULL REFERENCES definition(id),
    accepted   INTEGER NOT NULL CHECK (accepted IN (0, 1)),
    given_us   INTEGER NOT NULL,
    given_by   TEXT NOT NULL,
    login      TEXT NOT NULL,
    why        TEXT NOT NULL
) STRICT;
CREATE INDEX definition_word_of ON definition_word(definition);
CREATE VIEW definition_state AS SELECT d.*, s.seen_us, w.id AS word, coalesce(w.accepted, 0) AS accepted, w.given_us,
    w.given_by, w.login, w.why, d.id = (SELECT o.id FROM definition o JOIN definition_seen l ON l.definition = o.id
      WHERE o.upstream = d.upstream AND o.tool = d.tool ORDER BY l.seen_us DESC, o.id DESC LIMIT 1) AS latest
    FROM definition d JOIN definition_seen s ON s.definition = d.id LEFT JOIN definition_word w ON w.id =
      (SELECT max(id) FROM definition_word WHERE definition = d.id);
CREATE TRIGGER definition_stays BEFORE UPDATE ON definition BEGIN SELECT raise(ABORT, 'definitions are immutable'); END;
CREATE TRIGGER definition_word_stays BEFORE UPDATE ON definition_word BEGIN SELECT raise(ABORT, 'words are append-only'); END;
CREATE TRIGGER definition_word_remains BEFORE DELETE ON definition_word BEGIN SELECT raise(ABORT, 'words are append-only'); END;
