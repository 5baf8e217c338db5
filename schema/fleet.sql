-- SPDX-License-Identifier: Apache-2.0
--
-- The centre of a fleet: all that its PostgreSQL (15 or later) has, in the schema `callgate`. This is the text that `callgate fleet init`
-- runs, as the role that owns all of it. Nodes, which are roles of their own, may put rows into the trail's tables, in nobody's name but
-- their own, and read none; all else they do by functions here that run as the owner.

-- ---- roles and version ----------------------------------------------------------------------------------------------

CREATE SCHEMA callgate;

-- Roles are a cluster's, and another database of it may have a fleet, too.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'callgate_node') THEN
        CREATE ROLE callgate_node NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'callgate_reader') THEN
        CREATE ROLE callgate_reader NOLOGIN;
    END IF;
END $$;
GRANT USAGE ON SCHEMA callgate TO callgate_node, callgate_reader;

-- Who connects makes nothing of his own here. The one takes the database's owner, the other a superuser: else PostgreSQL warns, and
-- refuses who asks for what a superuser has done before.
DO $$
DECLARE
    makes text;
BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    FOREACH makes IN ARRAY ARRAY['lo_creat(integer)', 'lo_create(oid)', 'lo_from_bytea(oid, bytea)'] LOOP
        IF has_function_privilege('public', makes, 'EXECUTE') THEN
            EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || makes || ' FROM PUBLIC';
        END IF;
    END LOOP;
END $$;

-- One row. Of the number the hundreds say what nodes of before cannot go on with; they go on with more of the rest. A node that is newer
-- ships nothing until `callgate fleet upgrade`.
CREATE TABLE callgate.schema_version (
    one    boolean PRIMARY KEY DEFAULT true CHECK (one),
    number integer NOT NULL,
    since  timestamptz NOT NULL DEFAULT now()
);
INSERT INTO callgate.schema_version (number) VALUES (200);
GRANT SELECT ON callgate.schema_version TO callgate_node, callgate_reader;

-- ---- roster and seats -----------------------------------------------------------------------------------------------
-- Which nodes there are, each time signed by the fleet's root key, which is not here. A node takes none that is not, and none older than
-- it has seen.

CREATE TABLE callgate.fleet (
    one  boolean PRIMARY KEY DEFAULT true CHECK (one),
    id   text COLLATE "C" NOT NULL, -- hexadecimal
    root bytea NOT NULL             -- its public key; nodes have it in their memberships
);
CREATE TABLE callgate.roster (
    number    bigint PRIMARY KEY CHECK (number > 0),
    text      bytea NOT NULL,
    signature bytea NOT NULL,
    why       text, -- somebody joined, or left
    put_by    text COLLATE "C" NOT NULL DEFAULT session_user,
    put_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON callgate.fleet, callgate.roster TO callgate_node, callgate_reader;

-- A node brings the newest that it has seen to a centre that was restored, and lacks it.
CREATE FUNCTION callgate.roster_put(at bigint, what bytea, sign bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO callgate.roster (number, text, signature, why) SELECT at, what, sign, 'put again by a node that had it'
    WHERE octet_length(what) <= 2097152 ON CONFLICT DO NOTHING
$$;
REVOKE ALL ON FUNCTION callgate.roster_put FROM PUBLIC;
GRANT EXECUTE ON FUNCTION callgate.roster_put TO callgate_node;

-- Which process is a node: the one whose session took its seat, until that session has ended. A server that loses sight of it says
-- so within seconds, since its sessions ask for that (src/ground/pg).
CREATE TABLE callgate.seat (
    node     text COLLATE "C" PRIMARY KEY,
    instance bytea NOT NULL, -- random, of one process
    pid      integer NOT NULL,
    since    timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON callgate.seat TO callgate_reader;

-- For whoever asks. False: another process of the same name lives. One that comes back on a new session takes its own seat again.
CREATE FUNCTION callgate.seat_take(who bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    taken callgate.seat;
BEGIN
    INSERT INTO callgate.seat (node, instance, pid) VALUES (session_user, who, pg_backend_pid()) ON CONFLICT DO NOTHING;
    SELECT * INTO taken FROM callgate.seat WHERE node = session_user FOR UPDATE;
    IF taken.instance <> who AND taken.pid <> pg_backend_pid() AND
       EXISTS (SELECT FROM pg_stat_activity WHERE pid = taken.pid AND usename = session_user) THEN
        RETURN false;
    END IF;
    UPDATE callgate.seat SET instance = who, pid = pg_backend_pid(),
        since = CASE WHEN taken.instance = who THEN taken.since ELSE clock_timestamp() END WHERE node = session_user;
    RETURN true;
END $$;
REVOKE ALL ON FUNCTION callgate.seat_take FROM PUBLIC;
GRANT EXECUTE ON FUNCTION callgate.seat_take TO callgate_node;

-- ---- nodes and beats ------------------------------------------------------------------------------------------------

CREATE TABLE callgate.node ( -- what each node tells of itself once a second; for people, nothing goes by it
    name          text COLLATE "C" PRIMARY KEY,
    beat_at       timestamptz NOT NULL, -- by this server's clock
    clock_us      bigint NOT NULL, -- what the node's own said then: UTC microseconds since 1970
    version       bytea NOT NULL, -- of the program
    configuration bytea NOT NULL, -- SHA-256 of its text, hexadecimal
    change        bigint NOT NULL, -- the last that it took
    policy        bigint NOT NULL, -- the version that is active there; 0: none
    behind        bigint NOT NULL, -- the active version of the policy that it could not take; 0: none
    stale_us      bigint NOT NULL, -- so long it goes on without this centre
    shipped_seq   bigint NOT NULL,
    lag_rows      bigint NOT NULL,
    lag_us        bigint NOT NULL,
    problem       bytea NOT NULL -- a sentence; empty: there is none
);
GRANT SELECT ON callgate.node TO callgate_reader;

CREATE FUNCTION callgate.beat(version bytea, configuration bytea, clock_us bigint, change bigint, policy bigint, behind bigint,
                              stale_us bigint, shipped_seq bigint, lag_rows bigint, lag_us bigint, problem bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO callgate.node AS n VALUES (session_user, clock_timestamp(), clock_us, version, configuration, change, policy, behind, stale_us,
                                           shipped_seq, lag_rows, lag_us, problem)
    ON CONFLICT (name) DO UPDATE SET (beat_at, clock_us, version, configuration, change, policy, behind, stale_us, shipped_seq, lag_rows,
                                      lag_us, problem) =
        (excluded.beat_at, excluded.clock_us, excluded.version, excluded.configuration, excluded.change, excluded.policy, excluded.behind,
         excluded.stale_us, excluded.shipped_seq, excluded.lag_rows, excluded.lag_us, excluded.problem)
$$;
REVOKE ALL ON FUNCTION callgate.beat FROM PUBLIC;
GRANT EXECUTE ON FUNCTION callgate.beat TO callgate_node;

-- ---- trail ----------------------------------------------------------------------------------------------------------
-- Every row of every node's audit, with the node's name and the day in whose partition it lies: that of its time (UTC), and of an
-- outcome that of its decision, so that the two are dropped together. Columns are those of schema/audit.sql, but for `node` there, which is
-- `host` here. Those that questions go by stand first: PostgreSQL comes to a column through all before it, and looking at the fiftieth of
-- each row took twice the time. What anybody else than the gate may fill is bytea, since PostgreSQL's texts take no NUL and
-- nothing but UTF-8; text_of shows it. Nothing but number, node and day must be there: no row may stop those behind it.

-- Agents' bytes as text: what they say where they are UTF-8 without NUL, else PostgreSQL's escapes of them. Never an error, since one row
-- would hide all others. The first function is for the few that are not plain: it looks by a pattern, because what catches an error
-- cannot be asked by several processes at once. The second is put into a question's own text, and indices are made of it.
CREATE FUNCTION callgate.text_of_any(said bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10
    SET search_path = pg_catalog AS $$
BEGIN
    IF position('\x00'::bytea IN said) > 0 OR convert_from(said, 'LATIN1') !~
       ('^(?:[\u0001-\u007f]|[\u00c2-\u00df][\u0080-\u00bf]|\u00e0[\u00a0-\u00bf][\u0080-\u00bf]|[\u00e1-\u00ec\u00ee\u00ef]'
        '[\u0080-\u00bf]{2}|\u00ed[\u0080-\u009f][\u0080-\u00bf]|\u00f0[\u0090-\u00bf][\u0080-\u00bf]{2}|[\u00f1-\u00f3]'
        '[\u0080-\u00bf]{3}|\u00f4[\u0080-\u008f][\u0080-\u00bf]{2})*$') THEN
        RETURN pg_catalog.encode(said, 'escape');
    END IF;
    RETURN pg_catalog.convert_from(said, 'UTF8');
END $$;
CREATE FUNCTION callgate.text_of(said bytea) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN octet_length(encode(said, 'escape')) = octet_length(said) THEN encode(said, 'escape')
                ELSE callgate.text_of_any(said) END;

CREATE TABLE callgate.decision (
    node                 text COLLATE "C" NOT NULL DEFAULT session_user,
    day                  date NOT NULL,
    seq                  bigint NOT NULL,
    time_us              bigint,
    expects_outcome      bigint,
    policy_version       bigint,
    status               bigint,
    latency_us           bigint,
    via                  bytea,
    issuer               bytea,
    plan                 bytea,
    definition           bytea,
    verdict              text COLLATE "C",
    correlation          bytea,
    tenant               bytea,
    principal            bytea,
    tool                 bytea,
    method               bytea,
    upstream             bytea,
    rule                 bytea,
    reason               text COLLATE "C",
    session              bytea,
    arguments            bytea,
    tenant_previous      bytea,
    authentication       text COLLATE "C",
    client               bytea,
    host                 bytea,
    correlation_replaced bytea,
    trace                bytea,
    dialect              bytea,
    protocol_version     bytea,
    direction            text COLLATE "C",
    rpc_id               bytea,
    arguments_bytes      bigint,
    arguments_digest     bytea,
    arguments_cut        bigint,
    arguments_redacted   bigint,
    begin_digest         bytea,
    body_bytes           bigint,
    body_digest          bytea,
    query_bytes          bigint,
    query_digest         bytea,
    rule_reason          bytea,
    rules                bytea,
    undecided            bytea,
    monitor              bytea,
    policy_hash          bytea,
    judge_us             bigint,
    target               bytea,
    params_bytes         bigint,
    params_digest        bytea,
    groups               bytea,
    scopes               bytea,
    token_key            bytea,
    claims_bytes         bigint,
    claims_digest        bytea,
    plan_step            bytea,
    api_key              bigint,
    agent                bytea,
    agent_from           bytea,
    actors               bytea,
    client_says          bytea,
    agent_rule           bytea,
    hash                 bytea,
    salt                 bytea,
    arguments_begin      bytea,
    params               bytea,
    query                bytea,
    claims               bytea
) PARTITION BY RANGE (day);

CREATE TABLE callgate.outcome (
    node                 text COLLATE "C" NOT NULL DEFAULT session_user,
    day                  date NOT NULL,
    seq                  bigint NOT NULL,
    time_us              bigint,
    decision             bigint,
    outcome              text COLLATE "C",
    status               bigint,
    latency_us           bigint,
    answer_effect        text COLLATE "C",
    answer_found         bytea,
    server_withheld      bigint,
    tenant_previous      bytea,
    tenant               bytea,
    reason               text COLLATE "C",
    error_code           bigint,
    response_bytes       bigint,
    response_digest      bytea,
    server_requests      bigint,
    server_notifications bigint,
    server_denied        bigint,
    upstream_us          bigint,
    answer_bytes         bigint,
    answer_digest        bytea,
    answer_rule          bytea,
    answer_rules         bytea,
    answer_undecided     bytea,
    response_digest_before bytea,
    hash                 bytea,
    answer_salt          bytea,
    answer               bytea
) PARTITION BY RANGE (day);

CREATE TABLE callgate.event (
    node                 text COLLATE "C" NOT NULL DEFAULT session_user,
    day                  date NOT NULL,
    seq                  bigint NOT NULL,
    time_us              bigint,
    tenant_previous      bytea,
    tenant               bytea,
    kind                 text COLLATE "C",
    actor                bytea,
    detail               bytea,
    hash                 bytea
) PARTITION BY RANGE (day);

-- What a file of a node's audit says of itself: the hash of its first row goes on from this one's.
CREATE TABLE callgate.file (
    node       text COLLATE "C" NOT NULL DEFAULT session_user,
    seq        bigint NOT NULL,
    format     bigint,
    created_us bigint,
    id         bytea,
    previous   bytea,
    hash       bytea,
    PRIMARY KEY (node, seq)
);

-- Rows of days that no partition was opened for: of clocks that are wrong by days, and of nodes that come with years of rows.
CREATE TABLE callgate.decision_other PARTITION OF callgate.decision DEFAULT;
CREATE TABLE callgate.outcome_other PARTITION OF callgate.outcome DEFAULT;
CREATE TABLE callgate.event_other PARTITION OF callgate.event DEFAULT;
CREATE UNIQUE INDEX ON callgate.decision_other (node, seq);
CREATE UNIQUE INDEX ON callgate.outcome_other (node, seq);
CREATE UNIQUE INDEX ON callgate.event_other (node, seq);
CREATE INDEX ON callgate.outcome_other (node, decision);

-- Up to where each node's rows are here, all of them: the last one's number and hash.
CREATE TABLE callgate.trail_cursor (
    node  text COLLATE "C" PRIMARY KEY,
    seq   bigint NOT NULL,
    hash  bytea,
    moved timestamptz NOT NULL DEFAULT now()
);

-- Nodes that found another row under a number than they have: two with one name, or a trail that was changed.
CREATE TABLE callgate.trail_fork (
    node   text COLLATE "C" NOT NULL,
    told   timestamptz NOT NULL DEFAULT now(),
    told_by text COLLATE "C" NOT NULL DEFAULT session_user, -- the node itself, or its witness
    what   text,
    seq    bigint NOT NULL,
    here   bytea,
    there  bytea,
    UNIQUE (node, seq, here, there)
);

CREATE TABLE callgate.trail_day (
    day    date PRIMARY KEY,
    opened timestamptz NOT NULL DEFAULT now(),
    closed timestamptz                    -- all indices are there
);

-- One row. keep_days: how many days are kept; NULL: all. `known` follows the server's date by one day an hour at most: a clock
-- that was set years ahead drops nothing that somebody could not still save.
CREATE TABLE callgate.trail_keep (
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    keep_days integer CHECK (keep_days > 0),
    known     date NOT NULL,
    looked    timestamptz NOT NULL
);
INSERT INTO callgate.trail_keep (keep_days, known, looked) VALUES (NULL, (now() AT TIME ZONE 'UTC')::date, now());

-- The chain's proof of days that were dropped: of each node the first and the last row, and how many there were.
CREATE TABLE callgate.day_proof (
    node       text COLLATE "C" NOT NULL,
    day        date NOT NULL,
    first_seq  bigint NOT NULL,
    first_hash bytea,
    last_seq   bigint NOT NULL,
    last_hash  bytea,
    count      bigint NOT NULL,
    dropped    timestamptz NOT NULL DEFAULT now(),
    UNIQUE (node, day, last_seq)
);
-- Rows of them that stood between rows that are kept, such as outcomes from behind midnight: the chain of those needs their hashes.
-- So does the tree from the last checkpoint before the first row that is left.
CREATE TABLE callgate.day_link (
    node   text COLLATE "C" NOT NULL,
    seq    bigint NOT NULL,
    hash   bytea,
    tenant bytea,
    PRIMARY KEY (node, seq)
);

-- What is to be emptied here, since a node's trail says so in an event `erased`. Rows of `node` before `seq`.
CREATE TABLE callgate.erasure (
    node      text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,
    tenant    bytea NOT NULL,
    before_us bigint NOT NULL,
    after     date NOT NULL DEFAULT '-infinity', -- days up to here are done
    emptied   bigint NOT NULL DEFAULT 0,
    done      timestamptz,
    PRIMARY KEY (node, seq)
);

-- ---- what nodes may do with it

DO $$
DECLARE
    relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['decision', 'outcome', 'event', 'file'] LOOP
        EXECUTE format('GRANT INSERT (%s) ON callgate.%I TO callgate_node',
                       (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
                        WHERE attrelid = ('callgate.' || relation)::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'node'),
                       relation);
    END LOOP;
END $$;
GRANT SELECT ON callgate.decision, callgate.outcome, callgate.event, callgate.file, callgate.trail_cursor, callgate.trail_fork,
    callgate.trail_day, callgate.trail_keep, callgate.day_proof, callgate.day_link, callgate.erasure TO callgate_reader;

-- Where the rows of whoever asks end. No row: none are here.
CREATE FUNCTION callgate.cursor_read() RETURNS TABLE (seq bigint, hash bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.seq, c.hash FROM callgate.trail_cursor AS c WHERE c.node = session_user
$$;

-- Moves it, where it stands as was said; a node's first rows go on from (any number, NULL). False: it stands elsewhere.
CREATE FUNCTION callgate.cursor_move(seq_before bigint, hash_before bytea, seq_now bigint, hash_now bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE callgate.trail_cursor SET seq = seq_now, hash = hash_now, moved = now()
    WHERE node = session_user AND seq = seq_before AND hash IS NOT DISTINCT FROM hash_before AND seq_now >= seq_before;
    IF NOT FOUND AND hash_before IS NULL THEN
        INSERT INTO callgate.trail_cursor (node, seq, hash) VALUES (session_user, seq_now, hash_now) ON CONFLICT DO NOTHING;
    END IF;
    RETURN FOUND;
END $$;

CREATE FUNCTION callgate.fork_tell(at bigint, hash_here bytea, hash_there bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO callgate.trail_fork (node, seq, here, there) VALUES (session_user, at, hash_here, hash_there) ON CONFLICT DO NOTHING
$$;

-- ---- days

CREATE FUNCTION callgate.day_suffix(of date) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT to_char(of, 'YYYYMMDD') $$;

-- Locked by whose turn it is, and nothing else. An advisory lock would be anybody's who may connect, and who held it would keep all days.
CREATE TABLE callgate.turn_of_day ();
CREATE TABLE callgate.turn_of_tending ();

-- Makes a day's partitions, beside those that are written: attaching waits for nobody but who writes into `other`. Their indices grow at each
-- node's end alone. A call's outcome is found by one of them: without it each call of a running day asked all outcomes of its node. That of
-- times has an entry for each megabyte, which autovacuum makes. Figures are of texts as the views show them: without them PostgreSQL takes
-- a few rows to be found wherever one is asked for, and looks for each of half a million outcomes by itself. Not of arguments: ANALYZE
-- would hold thirty thousand of them whole.
CREATE FUNCTION callgate.day_make(of date) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    relation text;
    part text;
    asked text;
BEGIN
    LOCK TABLE callgate.turn_of_day IN EXCLUSIVE MODE;
    IF EXISTS (SELECT 1 FROM callgate.trail_day WHERE day = of) THEN
        RETURN;
    END IF;
    FOREACH relation IN ARRAY ARRAY['decision', 'outcome', 'event'] LOOP
        part := relation || '_' || callgate.day_suffix(of);
        EXECUTE format('CREATE TABLE callgate.%I (LIKE callgate.%I INCLUDING DEFAULTS, CHECK (day = %L::date))', part, relation, of);
        EXECUTE format('LOCK TABLE callgate.%I IN ACCESS EXCLUSIVE MODE', relation || '_other');
        EXECUTE format('WITH moved AS (DELETE FROM callgate.%I WHERE day = %L RETURNING *) INSERT INTO callgate.%I SELECT * FROM moved',
                       relation || '_other', of, part);
        EXECUTE format('CREATE UNIQUE INDEX ON callgate.%I (node, seq)', part);
        IF relation = 'outcome' THEN
            EXECUTE format('CREATE INDEX ON callgate.%I (node, decision)', part);
        ELSIF relation = 'decision' THEN
            EXECUTE format('CREATE INDEX ON callgate.%I USING brin (time_us)', part);
            FOREACH asked IN ARRAY ARRAY['via', 'issuer', 'plan', 'definition', 'tenant', 'tool', 'method', 'upstream', 'principal', 'rule',
                                         'correlation'] LOOP
                EXECUTE format('CREATE STATISTICS callgate.%I ON (callgate.text_of(%I) COLLATE "C") FROM callgate.%I',
                               part || '_of_' || asked, asked, part);
            END LOOP;
            EXECUTE format('CREATE STATISTICS callgate.%I ON (encode(session, ''hex'')) FROM callgate.%I', part || '_of_session', part);
        END IF;
        EXECUTE format('ALTER TABLE callgate.%I ATTACH PARTITION callgate.%I FOR VALUES FROM (%L) TO (%L)', relation, part, of, of + 1);
    END LOOP;
    UPDATE callgate.erasure SET after = least(after, of - 1) WHERE done IS NULL; -- rows came here out of `other`
    INSERT INTO callgate.trail_day (day) VALUES (of);
END $$;

-- A node is about to ship rows of a day. False: that day lies too far from the server's; its rows go to `other`. Behind somebody's open
-- transaction it fails after five seconds, and is asked again later, so that rows of other days, and who reads, do not wait behind it.
CREATE FUNCTION callgate.day_open(of date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s' AS $$
DECLARE
    today date := (now() AT TIME ZONE 'UTC')::date;
BEGIN
    IF EXISTS (SELECT 1 FROM callgate.trail_day WHERE day = of) THEN
        RETURN true;
    END IF;
    IF of > today + 2 OR of <= today - (SELECT least(coalesce(keep_days, 400), 400) FROM callgate.trail_keep) THEN
        RETURN false;
    END IF;
    PERFORM callgate.day_make(of);
    RETURN true;
END $$;

-- The indices of days that are over. `long`: what may be too long for an index, of the relation's columns.
CREATE VIEW callgate.day_indices (place, relation, what, columns, long) AS VALUES
    (1, 'decision', 'time', 'time_us', NULL),
    (2, 'decision', 'correlation', 'callgate.text_of(correlation) COLLATE "C"', 'correlation'),
    (3, 'decision', 'tenant', 'callgate.text_of(tenant) COLLATE "C", time_us', 'tenant'),
    (4, 'decision', 'tool', 'callgate.text_of(tool) COLLATE "C", verdict, time_us', 'tool'),
    (5, 'decision', 'principal', 'callgate.text_of(principal) COLLATE "C", time_us', 'principal'),
    (6, 'decision', 'rule', 'callgate.text_of(rule) COLLATE "C", time_us', 'rule'),
    (7, 'decision', 'session', 'encode(session, ''hex''), time_us', NULL),
    (8, 'event', 'kind', 'kind, time_us', NULL);

-- Makes the next index that a day which is over still lacks. Where somebody has sent a text that is too long for one, it is of the
-- rows without such texts, and helps who says so. Returns: its name; NULL: there are all.
CREATE FUNCTION callgate.day_index(of date) RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wanted record;
    name text;
    command text;
BEGIN
    FOR wanted IN SELECT * FROM callgate.day_indices ORDER BY place LOOP
        name := wanted.relation || '_' || callgate.day_suffix(of) || '_by_' || wanted.what;
        IF to_regclass('callgate.' || quote_ident(name)) IS NULL THEN
            command := format('CREATE INDEX %I ON callgate.%I (%s)', name, wanted.relation || '_' || callgate.day_suffix(of),
                              wanted.columns);
            BEGIN
                EXECUTE command;
            EXCEPTION WHEN program_limit_exceeded THEN
                EXECUTE command || format(' WHERE octet_length(%I) <= 600', wanted.long);
            END;
            RETURN name;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- A row of a day that is over was refused since a text of it is too long for an index: they are made anew, without it.
CREATE FUNCTION callgate.day_unindex(of date) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made record;
BEGIN
    FOR made IN SELECT * FROM callgate.day_indices WHERE long IS NOT NULL LOOP
        EXECUTE format('DROP INDEX IF EXISTS callgate.%I', made.relation || '_' || callgate.day_suffix(of) || '_by_' || made.what);
    END LOOP;
    UPDATE callgate.trail_day SET closed = NULL WHERE day = of;
END $$;

-- Drops a day, and keeps the chain's proof of it.
CREATE FUNCTION callgate.day_drop(of date) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    relation text;
    whose record;
    kept bigint;
BEGIN
    FOR whose IN SELECT node, min(seq) AS first, max(seq) AS last, count(*) AS rows FROM (
                     SELECT node, seq FROM callgate.decision WHERE day = of UNION ALL
                     SELECT node, seq FROM callgate.outcome WHERE day = of UNION ALL
                     SELECT node, seq FROM callgate.event WHERE day = of) AS r GROUP BY node LOOP
        INSERT INTO callgate.day_proof (node, day, first_seq, first_hash, last_seq, last_hash, count)
        VALUES (whose.node, of, whose.first, callgate.row_hash_of(whose.node, of, whose.first), whose.last,
                callgate.row_hash_of(whose.node, of, whose.last), whose.rows) ON CONFLICT DO NOTHING;
        SELECT min(seq) INTO kept FROM (
            SELECT min(seq) AS seq FROM callgate.decision WHERE node = whose.node AND day <> of UNION ALL
            SELECT min(seq) FROM callgate.outcome WHERE node = whose.node AND day <> of UNION ALL
            SELECT min(seq) FROM callgate.event WHERE node = whose.node AND day <> of) AS r;
        kept := callgate.proof_from(whose.node, kept);
        INSERT INTO callgate.day_link (node, seq, hash, tenant)
        SELECT whose.node, seq, hash, tenant FROM (
            SELECT seq, hash, tenant FROM callgate.decision WHERE node = whose.node AND day = of AND seq >= kept UNION ALL
            SELECT seq, hash, tenant FROM callgate.outcome WHERE node = whose.node AND day = of AND seq >= kept UNION ALL
            SELECT seq, hash, tenant FROM callgate.event WHERE node = whose.node AND day = of AND seq >= kept) AS r ON CONFLICT DO NOTHING;
        DELETE FROM callgate.day_link WHERE node = whose.node AND seq < kept;
    END LOOP;
    FOREACH relation IN ARRAY ARRAY['decision', 'outcome', 'event'] LOOP
        IF EXISTS (SELECT 1 FROM callgate.trail_day WHERE day = of) THEN
            EXECUTE format('DROP TABLE callgate.%I', relation || '_' || callgate.day_suffix(of));
        ELSE
            EXECUTE format('DELETE FROM callgate.%I WHERE day = %L', relation || '_other', of);
        END IF;
    END LOOP;
    DELETE FROM callgate.trail_day WHERE day = of;
END $$;

CREATE FUNCTION callgate.row_hash_of(whose text, of date, number bigint) RETURNS bytea LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT hash FROM callgate.decision WHERE node = whose AND day = of AND seq = number UNION ALL
    SELECT hash FROM callgate.outcome WHERE node = whose AND day = of AND seq = number UNION ALL
    SELECT hash FROM callgate.event WHERE node = whose AND day = of AND seq = number LIMIT 1
$$;

-- The oldest day that is to go; NULL: none.
CREATE FUNCTION callgate.day_expired() RETURNS date LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    today date := (now() AT TIME ZONE 'UTC')::date;
    until date;
BEGIN
    UPDATE callgate.trail_keep SET known = least(today, known + 1), looked = now()
    WHERE today <> known AND (today < known OR now() >= looked + interval '1 hour' OR now() < looked);
    SELECT known - keep_days INTO until FROM callgate.trail_keep;
    RETURN (SELECT min(day) FROM (SELECT min(day) AS day FROM callgate.trail_day WHERE day < until UNION ALL
                                  SELECT min(day) FROM callgate.decision_other WHERE day < until UNION ALL
                                  SELECT min(day) FROM callgate.outcome_other WHERE day < until UNION ALL
                                  SELECT min(day) FROM callgate.event_other WHERE day < until) AS d);
END $$;

-- One piece of the work that days make: those ahead opened, those that are over given their indices, those too old dropped. Any
-- node may ask for it; how long days are kept is said here and nowhere else. Returns: what was done; NULL: nothing is to do.
-- Nodes ask every ten minutes, at times of their own, and one is at it at a time, since nobody waits for the turn. What a lock refuses is
-- begun anew by the next one: it reads the day that is to go once more, and rows wait for it a second a relation at most. So a reader's
-- transaction that stays open costs the centre reading and rows some seconds, in proportion to how many nodes there are, and no call anything.
CREATE FUNCTION callgate.trail_tend() RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    today date := (now() AT TIME ZONE 'UTC')::date;
    at date;
    made text;
BEGIN
    PERFORM set_config('lock_timeout', '1s', true);
    LOCK TABLE callgate.turn_of_tending IN EXCLUSIVE MODE NOWAIT;
    FOR ahead IN 0..2 LOOP
        IF NOT EXISTS (SELECT 1 FROM callgate.trail_day WHERE day = today + ahead) THEN
            PERFORM callgate.day_make(today + ahead);
            RETURN 'opened ' || (today + ahead);
        END IF;
    END LOOP;
    at := callgate.day_expired();
    IF at IS NOT NULL THEN
        PERFORM callgate.day_drop(at);
        RETURN 'dropped ' || at;
    END IF;
    -- a call may last over midnight, and its outcome comes into the day before
    SELECT min(day) INTO at FROM callgate.trail_day WHERE closed IS NULL AND day < ((now() - interval '2 hours') AT TIME ZONE 'UTC')::date;
    IF at IS NULL THEN
        RETURN NULL;
    END IF;
    made := callgate.day_index(at);
    IF made IS NULL THEN -- figures of what the indices are of, too, which only an ANALYZE behind them makes
        EXECUTE format('ANALYZE callgate.%I, callgate.%I, callgate.%I', 'decision_' || callgate.day_suffix(at),
                       'outcome_' || callgate.day_suffix(at), 'event_' || callgate.day_suffix(at));
        UPDATE callgate.trail_day SET closed = now() WHERE day = at;
    END IF;
    RETURN coalesce('made ' || made, 'closed ' || at);
EXCEPTION WHEN lock_not_available THEN -- another node is at it, or a reader's transaction is open, behind which all nodes' rows would wait
    RETURN NULL;
END $$;

-- ---- erasure

-- Takes up what an event `erased` of the asking node's says, which must be here: it is the ground. False: it is no such event.
CREATE FUNCTION callgate.erase_note(of date, number bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO callgate.erasure (node, seq, tenant, before_us)
    SELECT e.node, e.seq, e.tenant, substring(encode(e.detail, 'escape') FROM '^\{"before_us":(-?[0-9]{1,18})[,}]')::bigint
    FROM callgate.event AS e
    WHERE e.node = session_user AND e.day = of AND e.seq = number AND e.kind = 'erased' AND e.tenant IS NOT NULL
      AND encode(e.detail, 'escape') ~ '^\{"before_us":-?[0-9]{1,18}[,}]'
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

-- Empties what is outside the chain in some rows of one partition. Returns: in how many.
CREATE FUNCTION callgate.erase_some(what callgate.erasure, suffix text, most integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    count_decisions bigint;
    count_outcomes bigint;
BEGIN
    EXECUTE format('UPDATE callgate.%1$I SET salt = NULL, arguments = NULL, arguments_begin = NULL, params = NULL, query = NULL,'
                   ' claims = NULL WHERE ctid = ANY (ARRAY(SELECT ctid FROM callgate.%1$I WHERE node = $1 AND seq < $2 AND tenant = $3'
                   ' AND time_us < $4 AND (salt IS NOT NULL OR arguments IS NOT NULL OR arguments_begin IS NOT NULL OR'
                   ' params IS NOT NULL OR query IS NOT NULL OR claims IS NOT NULL) LIMIT $5))', 'decision_' || suffix)
        USING what.node, what.seq, what.tenant, what.before_us, most;
    GET DIAGNOSTICS count_decisions = ROW_COUNT;
    EXECUTE format('UPDATE callgate.%1$I SET answer_salt = NULL, answer = NULL WHERE ctid = ANY (ARRAY(SELECT ctid FROM callgate.%1$I'
                   ' WHERE node = $1 AND seq < $2 AND tenant = $3 AND time_us < $4'
                   ' AND (answer_salt IS NOT NULL OR answer IS NOT NULL) LIMIT $5))', 'outcome_' || suffix)
        USING what.node, what.seq, what.tenant, what.before_us, most;
    GET DIAGNOSTICS count_outcomes = ROW_COUNT;
    RETURN count_decisions + count_outcomes;
END $$;

-- One piece of the asking node's oldest erasure that is not done. Returns: the number of its event, and whether it is done now;
-- no row: there is none.
CREATE FUNCTION callgate.erase_step() RETURNS TABLE (number bigint, is_done boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    what callgate.erasure;
    at date;
    emptied_now bigint;
BEGIN
    SELECT * INTO what FROM callgate.erasure WHERE node = session_user AND done IS NULL ORDER BY seq LIMIT 1 FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT min(day) INTO at FROM callgate.trail_day WHERE day > what.after;
    IF at IS NOT NULL THEN
        emptied_now := callgate.erase_some(what, callgate.day_suffix(at), 2000);
    ELSE -- and those of no day last: from there rows only move into days, with day_make
        emptied_now := callgate.erase_some(what, 'other', 2000);
    END IF;
    UPDATE callgate.erasure AS e SET emptied = e.emptied + emptied_now,
        after = CASE WHEN emptied_now = 0 AND at IS NOT NULL THEN at ELSE e.after END,
        done = CASE WHEN emptied_now = 0 AND at IS NULL THEN now() END
    WHERE e.node = what.node AND e.seq = what.seq;
    RETURN QUERY SELECT what.seq, emptied_now = 0 AND at IS NULL;
END $$;

REVOKE ALL ON FUNCTION callgate.cursor_read(), callgate.cursor_move(bigint, bytea, bigint, bytea),
    callgate.fork_tell(bigint, bytea, bytea), callgate.day_suffix(date), callgate.day_make(date), callgate.day_open(date),
    callgate.day_index(date), callgate.day_unindex(date),
    callgate.day_drop(date), callgate.row_hash_of(text, date, bigint), callgate.day_expired(),
    callgate.trail_tend(), callgate.erase_note(date, bigint), callgate.erase_some(callgate.erasure, text, integer),
    callgate.erase_step() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION callgate.cursor_read(), callgate.cursor_move(bigint, bytea, bigint, bytea),
    callgate.fork_tell(bigint, bytea, bytea), callgate.day_open(date), callgate.day_unindex(date), callgate.trail_tend(),
    callgate.erase_note(date, bigint), callgate.erase_step() TO callgate_node;

-- ---- checkpoints ----------------------------------------------------------------------------------------------------
-- Every checkpoint of every node, with the peaks of its tree, and under its note one line more than the node's own file has: the node's
-- key signs it, too, so that nobody else can put one here in its name. The next node by name looks whether each goes on from the last
-- one that it saw, and says so in a cosignature (c2sp.org/tlog-cosignature). Nothing here is ever changed.

CREATE TABLE callgate.checkpoint (
    node    text COLLATE "C" NOT NULL DEFAULT session_user,
    size    bigint NOT NULL,
    time_us bigint NOT NULL,
    peaks   bytea NOT NULL,
    note    bytea NOT NULL,
    put     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (node, size)
);

CREATE TABLE callgate.cosignature (
    node     text COLLATE "C" NOT NULL,
    size     bigint NOT NULL,
    cosigner text COLLATE "C" NOT NULL DEFAULT session_user,
    line     bytea NOT NULL,
    put      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (node, size, cosigner),
    FOREIGN KEY (node, size) REFERENCES callgate.checkpoint
);

-- These stop mistakes. Who owns the tables can drop them, but not make a checkpoint.
CREATE FUNCTION callgate.only_appended() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only', TG_TABLE_SCHEMA, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER checkpoint_stays BEFORE UPDATE OR DELETE ON callgate.checkpoint EXECUTE FUNCTION callgate.only_appended();
CREATE TRIGGER cosignature_stays BEFORE UPDATE OR DELETE ON callgate.cosignature EXECUTE FUNCTION callgate.only_appended();
CREATE TRIGGER trail_fork_stays BEFORE UPDATE OR DELETE ON callgate.trail_fork EXECUTE FUNCTION callgate.only_appended();

GRANT SELECT ON callgate.checkpoint, callgate.cosignature TO callgate_reader;

-- From which row on the hashes of a node's rows are kept, where the first row that is left is this one (NULL: none is): from the last
-- checkpoint before it.
CREATE FUNCTION callgate.proof_from(whose text, first_left bigint) RETURNS bigint LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(max(size), 0) FROM callgate.checkpoint
    WHERE node = whose AND size < coalesce(first_left, (SELECT seq + 1 FROM callgate.trail_cursor WHERE node = whose))
$$;

-- The last checkpoint of whoever asks.
CREATE FUNCTION callgate.checkpoint_last() RETURNS TABLE (size bigint, note bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.size, c.note FROM callgate.checkpoint AS c WHERE c.node = session_user ORDER BY c.size DESC LIMIT 1
$$;

-- Puts one behind the last. False: it is not behind it, or covers rows that are not here yet.
CREATE FUNCTION callgate.checkpoint_put(new_size bigint, new_time_us bigint, new_peaks bytea, new_note bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    until bigint;
BEGIN
    SELECT seq INTO until FROM callgate.trail_cursor WHERE node = session_user FOR UPDATE; -- one at a time, in their order
    IF until IS NULL OR new_size > until
       OR EXISTS (SELECT FROM callgate.checkpoint AS c WHERE c.node = session_user AND c.size >= new_size) THEN
        RETURN false;
    END IF;
    INSERT INTO callgate.checkpoint (node, size, time_us, peaks, note) VALUES (session_user, new_size, new_time_us, new_peaks, new_note);
    RETURN true;
END $$;

-- Whether there are two records of a node: nobody gives it uses or approvals until it has come back under another name.
CREATE FUNCTION callgate.is_forked(whose text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM callgate.trail_fork WHERE node = whose)
$$;

-- What was told of whoever asks; no row: he is not forked.
CREATE FUNCTION callgate.fork_read() RETURNS TABLE (seq bigint, told_by text, what text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT f.seq, f.told_by, f.what FROM callgate.trail_fork AS f WHERE f.node = session_user ORDER BY f.told LIMIT 1
$$;

-- ---- who is whose witness

-- The next node by name, in a ring, of those that were heard of in the last minute; NULL: there is no other.
CREATE FUNCTION callgate.witness_of(whose text) RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(min(n.name) FILTER (WHERE n.name > whose), min(n.name)) FROM callgate.node AS n
            WHERE n.name <> whose AND n.beat_at > clock_timestamp() - interval '1 minute');
END $$;

-- Those whose witness the asking node is, but for those that are forked, with the size of their last checkpoint.
CREATE FUNCTION callgate.witnessed() RETURNS TABLE (node text, size bigint) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT n.name, (SELECT max(c.size) FROM callgate.checkpoint AS c WHERE c.node = n.name) FROM callgate.node AS n
        WHERE callgate.witness_of(n.name) = session_user AND NOT callgate.is_forked(n.name) ORDER BY n.name;
END $$;

-- Checkpoints behind a size, of a node whose witness the asking one is.
CREATE FUNCTION callgate.witness_marks(whose text, behind bigint, most bigint)
RETURNS TABLE (size bigint, peaks bytea, note bytea) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF callgate.witness_of(whose) = session_user THEN
        RETURN QUERY SELECT c.size, c.peaks, c.note FROM callgate.checkpoint AS c WHERE c.node = whose AND c.size > behind
            ORDER BY c.size LIMIT most;
    END IF;
END $$;

-- The last one that some node has cosigned, for a witness that has seen none yet.
CREATE FUNCTION callgate.witness_begin(whose text) RETURNS TABLE (size bigint, peaks bytea, note bytea, cosigner text, line bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF callgate.witness_of(whose) = session_user THEN
        RETURN QUERY SELECT c.size, c.peaks, c.note, s.cosigner, s.line FROM callgate.cosignature AS s
            JOIN callgate.checkpoint AS c ON c.node = s.node AND c.size = s.size WHERE s.node = whose ORDER BY s.size DESC LIMIT 1;
    END IF;
END $$;

-- The hashes of rows `first` to `last` in their order, 32 bytes each; NULL: not all of them are here. Those that lie in the days
-- since `since` are asked first: there are hundreds of days, and a witness asks every few seconds.
CREATE FUNCTION callgate.witness_hashes(whose text, first bigint, last bigint, since date) RETURNS bytea
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found bigint;
    hashes bytea;
BEGIN
    IF callgate.witness_of(whose) IS DISTINCT FROM session_user::text THEN
        RETURN NULL;
    END IF;
    FOR attempt IN 1..2 LOOP
        SELECT count(*), string_agg(r.hash, ''::bytea ORDER BY r.seq) INTO found, hashes FROM (
            SELECT seq, hash FROM callgate.decision WHERE node = whose AND seq BETWEEN first AND last AND day >= since UNION ALL
            SELECT seq, hash FROM callgate.outcome WHERE node = whose AND seq BETWEEN first AND last AND day >= since UNION ALL
            SELECT seq, hash FROM callgate.event WHERE node = whose AND seq BETWEEN first AND last AND day >= since UNION ALL
            SELECT seq, hash FROM callgate.day_link WHERE node = whose AND seq BETWEEN first AND last) AS r;
        IF found = last - first + 1 THEN
            RETURN hashes;
        END IF;
        since := '-infinity';
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION callgate.cosign(whose text, at bigint, said bytea) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF callgate.witness_of(whose) IS DISTINCT FROM session_user::text THEN
        RETURN false;
    END IF;
    INSERT INTO callgate.cosignature (node, size, line) VALUES (whose, at, said) ON CONFLICT DO NOTHING;
    RETURN true;
END $$;

-- A witness says that a node's checkpoint does not go on from the last one that it saw.
CREATE FUNCTION callgate.fork_found(whose text, at bigint, why text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF callgate.witness_of(whose) = session_user AND NOT EXISTS (
        SELECT FROM callgate.trail_fork AS f WHERE f.node = whose AND f.told_by = session_user AND f.seq = at) THEN
        INSERT INTO callgate.trail_fork (node, seq, what) VALUES (whose, at, why);
    END IF;
END $$;

REVOKE ALL ON FUNCTION callgate.proof_from, callgate.checkpoint_last, callgate.checkpoint_put, callgate.is_forked, callgate.fork_read,
    callgate.witness_of, callgate.witnessed, callgate.witness_marks, callgate.witness_begin, callgate.witness_hashes, callgate.cosign,
    callgate.fork_found FROM PUBLIC;
GRANT EXECUTE ON FUNCTION callgate.checkpoint_last, callgate.checkpoint_put, callgate.fork_read, callgate.witnessed,
    callgate.witness_marks, callgate.witness_begin, callgate.witness_hashes, callgate.cosign, callgate.fork_found TO callgate_node;
GRANT EXECUTE ON FUNCTION callgate.is_forked, callgate.witness_of TO callgate_reader;

-- ---- changes --------------------------------------------------------------------------------------------------------
-- What the fleet decided, in one chain: each signed by the node whose command it was. Nothing here is believed by anybody: a node
-- verifies each text, its signature and its place, and puts again what it has and finds missing.

CREATE TABLE callgate.change (
    number    bigint PRIMARY KEY CHECK (number > 0),
    text      bytea NOT NULL, -- canonical JSON, as it was signed
    signature bytea NOT NULL,
    signer    text COLLATE "C" NOT NULL, -- whose key is tried before the text is read, which must say the same
    hash      bytea NOT NULL GENERATED ALWAYS AS (sha256(text)) STORED,
    put_by    text COLLATE "C" NOT NULL DEFAULT session_user, -- often another node than signed it, after a restore
    put_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Who wants a version to be active asks all others whether it compiles there: one question of each node at a time, under a random
-- number. Answers are signed: a row that somebody else puts here keeps no version from being active, and makes none so.
CREATE TABLE callgate.compile_ask (
    asked_by text COLLATE "C" PRIMARY KEY DEFAULT session_user,
    id       bigint NOT NULL,
    version  bigint NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE callgate.compile_answer (
    asked_by  text COLLATE "C" NOT NULL,
    node      text COLLATE "C" NOT NULL DEFAULT session_user,
    ask       bigint NOT NULL,
    problem   bytea NOT NULL, -- a sentence; empty: it compiles
    signature bytea NOT NULL,
    PRIMARY KEY (asked_by, node)
);
GRANT SELECT ON callgate.change, callgate.compile_ask, callgate.compile_answer TO callgate_reader;

-- What each node looks at each second: the last change.
CREATE FUNCTION callgate.change_last() RETURNS TABLE (number bigint, hash bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(c.number, 0), c.hash FROM (VALUES (1)) AS one
    LEFT JOIN LATERAL (SELECT number, hash FROM callgate.change ORDER BY number DESC LIMIT 1) AS c ON true
$$;
-- And what others ask, from a name on: a node goes round them. Takes: names: of the fleet's nodes, a line each; nobody else's rows count.
CREATE FUNCTION callgate.compile_asks(names text, behind text) RETURNS TABLE (asked_by text, id bigint, version bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.asked_by, a.id, a.version FROM callgate.compile_ask AS a
    WHERE a.asked_by = ANY (string_to_array(names, E'\n')) AND a.asked_by > behind AND a.asked_by <> session_user
      AND a.asked_at > clock_timestamp() - interval '1 minute'
    ORDER BY a.asked_by
$$;

-- As many as are wanted, of 32 MiB together or one alone.
CREATE FUNCTION callgate.changes_after(after bigint, most bigint) RETURNS TABLE (text bytea, signature bytea, signer text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.text, c.signature, c.signer FROM (
        SELECT text, signature, signer, number, sum(octet_length(text)) OVER (ORDER BY number) - octet_length(text) AS before
        FROM (SELECT * FROM callgate.change WHERE number > after ORDER BY number LIMIT most) AS next) AS c
    WHERE c.before < 33554432 ORDER BY c.number
$$;

-- One more behind the last. Returns: whether it was: another may have come before it.
CREATE FUNCTION callgate.change_put(at bigint, previous bytea, what bytea, sign bytea, signer text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last callgate.change;
BEGIN
    SELECT * INTO last FROM callgate.change ORDER BY number DESC LIMIT 1;
    IF at <> coalesce(last.number, 0) + 1 OR last.hash <> previous THEN
        RETURN false;
    END IF;
    INSERT INTO callgate.change (number, text, signature, signer) VALUES (at, what, sign, change_put.signer);
    PERFORM pg_notify('callgate_change', '');
    RETURN true;
END $$;

-- Asked again while it waits, so that a row which somebody put in its place does not stay.
CREATE FUNCTION callgate.compile_ask(under bigint, what bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM callgate.compile_ask WHERE asked_at < clock_timestamp() - interval '1 hour';
    IF NOT EXISTS (SELECT FROM callgate.compile_ask WHERE asked_by = session_user AND id = under AND version = what) THEN
        PERFORM pg_notify('callgate_change', '');
    END IF;
    INSERT INTO callgate.compile_ask (id, version) VALUES (under, what) ON CONFLICT (asked_by) DO UPDATE SET
        (id, version, asked_at) = (excluded.id, excluded.version, excluded.asked_at);
END $$;

CREATE FUNCTION callgate.compile_tell(whom text, which bigint, why bytea, sign bytea) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO callgate.compile_answer (asked_by, ask, problem, signature) VALUES (whom, which, why, sign)
    ON CONFLICT (asked_by, node) DO UPDATE SET (ask, problem, signature) = (excluded.ask, excluded.problem, excluded.signature);
    PERFORM pg_notify('callgate_change', '');
END $$;

-- All who live, or have said something to whoever asks. Takes: names: of the fleet's nodes, a line each.
CREATE FUNCTION callgate.compile_state(which bigint, names text) RETURNS TABLE (node text, problem bytea, signature bytea, lives boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT w.name, a.problem, a.signature, n.name IS NOT NULL FROM string_to_table(names, E'\n') AS w (name)
    LEFT JOIN callgate.compile_answer AS a ON a.asked_by = session_user AND a.ask = which AND a.node = w.name
    LEFT JOIN callgate.node AS n ON n.name = w.name AND n.beat_at > clock_timestamp() - interval '10 seconds'
    WHERE a.node IS NOT NULL OR n.name IS NOT NULL ORDER BY w.name;
END $$;

-- Which nodes have taken a change, and how many seconds ago they were heard of.
CREATE FUNCTION callgate.change_holders(at bigint) RETURNS TABLE (node text, has boolean, seen_s bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT n.name, n.change >= at, greatest(0, extract(epoch FROM clock_timestamp() - n.beat_at))::bigint
    FROM callgate.node AS n ORDER BY n.name;
END $$;
-- Likewise which nodes have erased what a change says, and of which the rows here are emptied, too.
CREATE FUNCTION callgate.erasure_holders(whose bytea, before bigint) RETURNS TABLE (node text, has boolean, seen_s bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT n.name, EXISTS (SELECT FROM callgate.erasure AS e WHERE e.node = n.name AND e.tenant = whose
                                        AND e.before_us = before AND e.done IS NOT NULL),
        greatest(0, extract(epoch FROM clock_timestamp() - n.beat_at))::bigint
    FROM callgate.node AS n ORDER BY n.name;
END $$;
REVOKE ALL ON FUNCTION callgate.change_last, callgate.changes_after, callgate.change_put, callgate.compile_asks, callgate.compile_ask,
    callgate.compile_tell, callgate.compile_state, callgate.change_holders, callgate.erasure_holders FROM PUBLIC;
GRANT EXECUTE ON FUNCTION callgate.change_last, callgate.changes_after, callgate.change_put, callgate.compile_asks, callgate.compile_ask,
    callgate.compile_tell, callgate.compile_state, callgate.change_holders, callgate.erasure_holders TO callgate_node;

-- ---- status ---------------------------------------------------------------------------------------------------------
-- What each node last told of itself, and what is here of it: for `callgate fleet status`, of a node or a reader.

CREATE FUNCTION callgate.fleet_status() RETURNS TABLE (name text, heard_us bigint, clock_off_us bigint, program bytea, configuration bytea,
    change bigint, policy bigint, behind bigint, stale_us bigint, shipped_seq bigint, lag_rows bigint, lag_us bigint, problem bytea,
    checkpoint bigint, cosigned bigint, cosigner text, is_forked boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT n.name, (extract(epoch FROM clock_timestamp() - n.beat_at) * 1000000)::bigint,
        n.clock_us - (extract(epoch FROM n.beat_at) * 1000000)::bigint, n.version, n.configuration, n.change, n.policy, n.behind,
        n.stale_us, n.shipped_seq, n.lag_rows, n.lag_us, n.problem, coalesce((SELECT max(c.size) FROM callgate.checkpoint AS c WHERE c.node = n.name), 0),
        coalesce(s.size, 0), s.cosigner, callgate.is_forked(n.name)
    FROM callgate.node AS n
    LEFT JOIN LATERAL (SELECT g.size, g.cosigner FROM callgate.cosignature AS g WHERE g.node = n.name ORDER BY g.size DESC LIMIT 1) AS s ON true
    ORDER BY n.name;
END $$;
REVOKE ALL ON FUNCTION callgate.fleet_status FROM PUBLIC;
GRANT EXECUTE ON FUNCTION callgate.fleet_status TO callgate_node, callgate_reader;

-- ---- approvals ------------------------------------------------------------------------------------------------------
-- What nodes say of held calls, each node in an order of its own without a gap: a call is held, a person has answered, an approval was
-- taken. Sealed and signed: whoever can write here can neither read it nor add to it. Which node may use an approval is the one row of
-- approval_use that there can be.

CREATE TABLE callgate.approval_word (
    node      text COLLATE "C" NOT NULL,
    number    bigint NOT NULL CHECK (number > 0),
    said_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    sealed    bytea NOT NULL,
    signature bytea NOT NULL,
    PRIMARY KEY (node, number)
);

CREATE TABLE callgate.approval_use (
    ask_node   text COLLATE "C" NOT NULL,
    ask_number bigint NOT NULL,
    node       text COLLATE "C" NOT NULL,
    used_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (ask_node, ask_number)
);

-- The last word of whoever asks, of those up to a number.
CREATE FUNCTION callgate.approval_last(most bigint) RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(max(number), 0) FROM callgate.approval_word WHERE node = session_user AND number <= most
$$;

-- What stands under his name behind a number.
CREATE FUNCTION callgate.approval_own(behind bigint, most bigint) RETURNS TABLE (number bigint, sealed bytea, signature bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT number, sealed, signature FROM callgate.approval_word WHERE node = session_user AND number > behind ORDER BY number LIMIT most
$$;

-- False: the word before it is not there. What stands in its place is no word of that node, which knows its own.
CREATE FUNCTION callgate.approval_say(at bigint, sealed bytea, signature bytea) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO callgate.approval_word AS w (node, number, sealed, signature) SELECT session_user, at, sealed, signature
    WHERE at = 1 OR EXISTS (SELECT FROM callgate.approval_word AS b WHERE b.node = session_user AND b.number = at - 1)
    ON CONFLICT (node, number) DO UPDATE SET (said_at, sealed, signature) = (excluded.said_at, excluded.sealed, excluded.signature);
    IF FOUND THEN
        PERFORM pg_notify('callgate_change', '');
    END IF;
    RETURN FOUND;
END $$;

-- What others have said since, a word of each node, then the next of each: whose words wait for another's keeps nobody from them.
-- Takes: known: a line each, a node's name, a blank, the last number that was heard of it. Of nobody else anything is told: a row
-- under a name that is none keeps nobody's back.
CREATE FUNCTION callgate.approval_words(known text, most bigint) RETURNS TABLE (node text, number bigint, sealed bytea, signature bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH heard AS (SELECT split_part(line, ' ', 1) AS name, split_part(line, ' ', 2)::bigint AS last
                   FROM string_to_table(known, E'\n') AS line WHERE line <> '')
    SELECT w.node, w.number, w.sealed, w.signature FROM heard AS h
    CROSS JOIN LATERAL (SELECT o.*, row_number() OVER (ORDER BY o.number) AS place FROM callgate.approval_word AS o
                        WHERE o.node = h.name AND o.number > h.last AND o.said_at > clock_timestamp() - interval '30 days'
                        ORDER BY o.number LIMIT most) AS w
    ORDER BY w.place, w.node LIMIT most
$$;

-- Who may use it: who asked first, for good. A node of which there are two records gets none; NULL: nobody has it.
CREATE FUNCTION callgate.approval_take(whose text, at bigint) RETURNS text
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO callgate.approval_use (ask_node, ask_number, node) SELECT whose, at, session_user
    WHERE NOT callgate.is_forked(session_user) ON CONFLICT DO NOTHING;
    SELECT node FROM callgate.approval_use WHERE ask_node = whose AND ask_number = at
$$;
REVOKE ALL ON FUNCTION callgate.approval_last, callgate.approval_own, callgate.approval_say, callgate.approval_words, callgate.approval_take FROM PUBLIC;
GRANT EXECUTE ON FUNCTION callgate.approval_last, callgate.approval_own, callgate.approval_say, callgate.approval_words,
    callgate.approval_take TO callgate_node;

-- ---- limits ---------------------------------------------------------------------------------------------------------
-- What all nodes together have used of limits and of steps of plans. A key is a digest under a secret of the fleet's, so that nobody here
-- reads or guesses what is counted. A window is 64 slots, and a use counts until its whole slot has left the window, and a tenth of a
-- second more: never more than was said, and at most so much less.
--
-- Time is here the fleet's own. It goes on by what the server's clock has gone on, by two seconds at once at most, never back, and
-- never by more than a tenth of a second beyond what has passed for the node that asks: a clock that jumps gives nobody a use. All of
-- it is in one row, which whoever asks locks: uses are one after the other.

CREATE TABLE callgate.limit_clock (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    time_us     bigint NOT NULL,
    database_us bigint NOT NULL,       -- what the server's clock said then
    server      text COLLATE "C" NOT NULL,
    longest_us  bigint NOT NULL,       -- window that was ever asked for
    broken_us   bigint                 -- since then no use is given: the server lacks some; NULL: it has all
);
-- Nodes: when each was here last, in the fleet's time, and whether it has told what it used since this server lacked something.
CREATE TABLE callgate.limit_node (
    node    text COLLATE "C" PRIMARY KEY,
    time_us bigint NOT NULL,
    told    boolean NOT NULL
);
CREATE TABLE callgate.limit_slot (
    key      bytea NOT NULL,
    slot     bigint NOT NULL,
    node     text COLLATE "C" NOT NULL,
    used     bigint NOT NULL,
    until_us bigint NOT NULL,
    PRIMARY KEY (key, slot, node)
);
CREATE INDEX ON callgate.limit_slot (until_us);
CREATE TABLE callgate.limit_value ( -- different values: the slot in which each was taken last
    key      bytea NOT NULL,
    value    bytea NOT NULL,
    node     text COLLATE "C" NOT NULL,
    slot     bigint NOT NULL,
    until_us bigint NOT NULL,
    PRIMARY KEY (key, value, node)
);
CREATE INDEX ON callgate.limit_value (until_us);
CREATE TABLE callgate.limit_step ( -- of plans, by the server's clock, since that is what a plan's end is told in
    plan     bytea NOT NULL,
    step     integer NOT NULL,
    used     bigint NOT NULL,
    until_us bigint NOT NULL,
    PRIMARY KEY (plan, step)
);
CREATE INDEX ON callgate.limit_step (until_us);
CREATE TABLE callgate.limit_given ( -- so that who asks again, since he heard nothing, is given the same use
    node     text COLLATE "C" NOT NULL,
    ticket   bigint NOT NULL,
    until_us bigint NOT NULL,
    PRIMARY KEY (node, ticket)
);
CREATE INDEX ON callgate.limit_given (until_us);

CREATE FUNCTION callgate.limit_database_us() RETURNS bigint LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
    RETURN floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
-- Another server, or one that was promoted, has another name.
CREATE FUNCTION callgate.limit_server() RETURNS text LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
    RETURN (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8);

INSERT INTO callgate.limit_clock (time_us, database_us, server, longest_us)
    VALUES (10000000000000, callgate.limit_database_us(), callgate.limit_server(), 0);

-- A break: nobody is given anything, until each node that was here in the last ten minutes has told what it used, or the longest window
-- is over. Takes: live_us: what the time was before somebody moved it.
CREATE FUNCTION callgate.limit_break(INOUT c callgate.limit_clock, live_us bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE callgate.limit_node AS n
        SET (told, time_us) = (false, n.time_us + CASE WHEN n.time_us <= live_us THEN c.time_us - live_us ELSE 0 END) WHERE true;
    c.broken_us := c.time_us;
END $$;

-- The row, locked, as it is now. There is a break where a node saw what this server lacks: a later time, or one that is told to this
-- node at a time that the server does not have of it, since others may have moved the time of a restored one on. Likewise where this
-- server's time has gone on by two seconds and a thousandth more than what has passed for the node: somebody moved it, and windows would
-- be over too early.
-- Takes: seen_us: the fleet's time as it was told to the asking node last, 0: never; most_us: what it can be by now, by what has passed
-- there since it heard of one.
CREATE FUNCTION callgate.limit_look(seen_us bigint, most_us bigint) RETURNS callgate.limit_clock
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c callgate.limit_clock;
    now_us bigint;
    here text := callgate.limit_server();
BEGIN
    SELECT * INTO STRICT c FROM callgate.limit_clock FOR UPDATE;
    now_us := callgate.limit_database_us();
    IF c.server <> here OR seen_us > c.time_us OR
       seen_us > coalesce((SELECT n.time_us FROM callgate.limit_node AS n WHERE n.node = session_user), 0) OR
       (seen_us > 0 AND c.time_us - most_us > 2000000 + (most_us - seen_us) / 1000) THEN
        c := callgate.limit_break(c, CASE WHEN seen_us > 0 THEN least(c.time_us, most_us) ELSE c.time_us END);
        c.server := here;
        c.database_us := now_us;
    ELSIF seen_us > 0 THEN
        c.time_us := greatest(c.time_us, least(c.time_us + least(now_us - c.database_us, 2000000), most_us + 100000));
        c.database_us := now_us;
    END IF;
    INSERT INTO callgate.limit_node AS n VALUES (session_user, c.time_us, c.broken_us IS NULL)
    ON CONFLICT (node) DO UPDATE SET time_us = excluded.time_us;
    IF c.broken_us IS NOT NULL AND (c.time_us - c.broken_us > c.longest_us + c.longest_us / 64 OR NOT EXISTS (
        SELECT FROM callgate.limit_node AS n WHERE NOT n.told AND n.time_us > c.broken_us - 600000000)) THEN
        c.broken_us := NULL;
    END IF;
    UPDATE callgate.limit_clock SET time_us = c.time_us, database_us = c.database_us, server = c.server, broken_us = c.broken_us;
    RETURN c;
END $$;

-- Takes away some of what is over.
CREATE FUNCTION callgate.limit_forget(relation text, over_us bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('DELETE FROM callgate.%1$I WHERE ctid = ANY (ARRAY(SELECT ctid FROM callgate.%1$I WHERE until_us < $1 LIMIT 5000))',
                   relation) USING over_us;
END $$;

-- Once a second, of each node. Returns: must_tell: the node is to say what it has used.
CREATE FUNCTION callgate.limit_beat(seen_us bigint, most_us bigint) RETURNS TABLE (time_us bigint, must_tell boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c callgate.limit_clock := callgate.limit_look(seen_us, most_us);
BEGIN
    PERFORM callgate.limit_forget(relation, c.time_us) FROM unnest(ARRAY['limit_slot', 'limit_value', 'limit_given']) AS relation;
    PERFORM callgate.limit_forget('limit_step', c.database_us);
    RETURN QUERY SELECT c.time_us, c.broken_us IS NOT NULL AND NOT n.told FROM callgate.limit_node AS n WHERE n.node = session_user;
END $$;

-- The slots of a window at a time: uses in slots before the first one count no longer.
CREATE FUNCTION callgate.limit_window(at_us bigint, per_us bigint, OUT slot_us bigint, OUT now_slot bigint, OUT first_slot bigint)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.us, at_us / s.us, (at_us - 100000) / s.us - 64 FROM (VALUES ((per_us + 63) / 64)) AS s (us)
$$;
-- From when on that is so of a slot.
CREATE FUNCTION callgate.limit_over_us(slot bigint, slot_us bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
    RETURN (slot + 65) * slot_us + 100000;

-- What follows gives one thing of an ask or says why not: wait_us is 0 where it is given, else after how long it may be.

-- Takes: own: as much at least the asking node has used in this window, as it knows itself. wait_us is NULL where less is here.
CREATE FUNCTION callgate.limit_take_amount(now_us bigint, whose bytea, most bigint, amount bigint, per_us bigint, beyond boolean,
                                           own bigint, OUT wait_us bigint, OUT taken bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    w record := callgate.limit_window(now_us, per_us);
    total numeric;
    mine numeric;
BEGIN
    SELECT coalesce(sum(s.used), 0), coalesce(sum(s.used) FILTER (WHERE s.node = session_user), 0) INTO total, mine
    FROM callgate.limit_slot AS s WHERE s.key = whose AND s.slot >= w.first_slot;
    taken := least(total, 4000000000000000000);
    IF mine < own THEN
        RETURN;
    END IF;
    wait_us := 0;
    IF NOT beyond AND total + amount > most THEN
        SELECT callgate.limit_over_us(min(g.slot), w.slot_us) - now_us INTO wait_us
        FROM (SELECT s.slot, sum(sum(s.used)) OVER (ORDER BY s.slot) AS gone FROM callgate.limit_slot AS s
              WHERE s.key = whose AND s.slot >= w.first_slot GROUP BY s.slot) AS g
        WHERE total - g.gone + amount <= most;
        wait_us := greatest(1, coalesce(wait_us, per_us));
    ELSIF amount > 0 THEN
        INSERT INTO callgate.limit_slot AS s VALUES (whose, w.now_slot, session_user, amount, callgate.limit_over_us(w.now_slot, w.slot_us))
        ON CONFLICT (key, slot, node) DO UPDATE SET used = least(s.used::numeric + excluded.used, 4000000000000000000);
    END IF;
END $$;

-- A value that a person let by, and that has no place, takes none.
CREATE FUNCTION callgate.limit_take_value(now_us bigint, whose bytea, mine bytea, most bigint, per_us bigint, beyond boolean,
                                          OUT wait_us bigint, OUT taken bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    w record := callgate.limit_window(now_us, per_us);
    others bigint;
BEGIN
    SELECT count(DISTINCT v.value) FILTER (WHERE v.value <> mine), count(DISTINCT v.value) INTO others, taken
    FROM callgate.limit_value AS v WHERE v.key = whose AND v.slot >= w.first_slot;
    wait_us := 0;
    IF others >= most AND NOT beyond THEN
        SELECT callgate.limit_over_us(o.last, w.slot_us) - now_us INTO wait_us
        FROM (SELECT max(v.slot) AS last FROM callgate.limit_value AS v
              WHERE v.key = whose AND v.value <> mine AND v.slot >= w.first_slot GROUP BY v.value) AS o
        ORDER BY o.last OFFSET others - most LIMIT 1;
        wait_us := greatest(1, coalesce(wait_us, per_us));
    ELSIF others < most THEN
        INSERT INTO callgate.limit_value AS v VALUES (whose, mine, session_user, w.now_slot, callgate.limit_over_us(w.now_slot, w.slot_us))
        ON CONFLICT (key, value, node) DO UPDATE
        SET (slot, until_us) = (greatest(v.slot, excluded.slot), greatest(v.until_us, excluded.until_us));
    END IF;
END $$;

-- A plan's step, from 1 on; 0: none, it is only asked what was used. Where the steps have an order, each is used once those before it
-- were, and none behind it was. Returns: used: what was used by now, as STEP:TIMES, in their order.
CREATE FUNCTION callgate.limit_take_step(whose bytea, which integer, times bigint, ordered boolean, ends_us bigint,
                                         OUT wait_us bigint, OUT used text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_used bigint;
    before bigint;
    behind bigint;
BEGIN
    SELECT coalesce(max(s.used) FILTER (WHERE s.step = which), 0), count(*) FILTER (WHERE s.step < which AND s.used > 0),
           count(*) FILTER (WHERE s.step > which AND s.used > 0) INTO now_used, before, behind
    FROM callgate.limit_step AS s WHERE s.plan = whose;
    wait_us := 1;
    IF which > 0 AND now_used < times AND NOT (ordered AND (before < which - 1 OR behind > 0)) THEN
        wait_us := 0;
        INSERT INTO callgate.limit_step AS s VALUES (whose, which, 1, ends_us + 86400000000)
        ON CONFLICT (plan, step) DO UPDATE SET used = s.used + 1, until_us = greatest(s.until_us, excluded.until_us);
    END IF;
    SELECT coalesce(string_agg(s.step || ':' || s.used, ',' ORDER BY s.step), '') INTO used
    FROM callgate.limit_step AS s WHERE s.plan = whose;
END $$;

-- All that one ask takes, or none of it. Returns: at: which of it was not given, from 0; NULL: all was; wait_us: NULL: this server lacks
-- what the node has used of it.
-- Takes: takes: [{kind, key, value, most, amount, per, flag, own}]: kind 0: an amount, of which the node knows that it has used `own`; 1: a
-- value; 2: the step `amount` of the plan `key`, whose end is `per`. flag: it is taken beyond the limit; of a step: there is an order.
CREATE FUNCTION callgate.limit_give(now_us bigint, takes json, OUT at integer, OUT wait_us bigint, OUT taken bigint, OUT used text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT (row_number() OVER ())::integer - 1 AS place, t.*
               FROM json_to_recordset(takes) AS t (kind integer, key text, value text, most bigint, amount bigint, per bigint,
                                                   flag boolean, own bigint) LOOP
        at := one.place;
        IF one.kind = 0 THEN
            SELECT a.wait_us, a.taken INTO wait_us, taken
            FROM callgate.limit_take_amount(now_us, decode(one.key, 'hex'), one.most, one.amount, one.per, one.flag, one.own) AS a;
        ELSIF one.kind = 1 THEN
            SELECT a.wait_us, a.taken INTO wait_us, taken
            FROM callgate.limit_take_value(now_us, decode(one.key, 'hex'), decode(one.value, 'hex'), one.most, one.per, one.flag) AS a;
        ELSE
            SELECT a.wait_us, a.used INTO wait_us, used
            FROM callgate.limit_take_step(decode(one.key, 'hex'), one.amount::integer, one.most, one.flag, one.per) AS a;
        END IF;
        IF wait_us > 0 OR wait_us IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'CG001'; -- what was taken before is undone; what is told stays
        END IF;
    END LOOP;
    at := NULL;
EXCEPTION WHEN SQLSTATE 'CG001' THEN
    RETURN;
END $$;

-- All that waits at one node: [{ticket, takes}]. status: 0: given; 1: there is no room; 2: this server may lack uses; 3: the node is
-- forked. time_us: the fleet's, for limit_look.
CREATE FUNCTION callgate.limit_use(seen_us bigint, most_us bigint, asks text)
RETURNS TABLE (ticket bigint, status integer, at integer, wait_us bigint, taken bigint, used text, time_us bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c callgate.limit_clock;
    ask record;
    given record;
    closed integer;
BEGIN
    PERFORM set_config('lock_timeout', '900ms', true);
    c := callgate.limit_look(seen_us, most_us);
    closed := CASE WHEN callgate.is_forked(session_user) THEN 3 WHEN c.broken_us IS NOT NULL THEN 2 END;
    FOR ask IN SELECT a.ticket AS number, a.takes FROM json_to_recordset(asks::json) AS a (ticket bigint, takes json) LOOP
        ticket := ask.number;
        time_us := c.time_us;
        status := coalesce(closed, 0);
        at := NULL;
        wait_us := NULL;
        taken := NULL;
        used := NULL;
        IF closed IS NULL THEN
            INSERT INTO callgate.limit_given AS g VALUES (session_user, ask.number, c.time_us + 60000000) ON CONFLICT DO NOTHING;
            IF FOUND THEN
                SELECT * INTO given FROM callgate.limit_give(c.time_us, ask.takes);
                SELECT given.at, given.wait_us, given.taken, given.used INTO at, wait_us, taken, used;
                status := CASE WHEN at IS NULL THEN 0 WHEN wait_us IS NULL THEN 2 ELSE 1 END;
                IF status > 0 THEN
                    DELETE FROM callgate.limit_given AS g WHERE g.node = session_user AND g.ticket = ask.number;
                END IF;
                IF status = 2 THEN
                    closed := 2;
                    c := callgate.limit_break(c, c.time_us);
                END IF;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
    UPDATE callgate.limit_clock AS l SET broken_us = c.broken_us, longest_us = greatest(l.longest_us, (
        SELECT max(t.per) FROM json_to_recordset(asks::json) AS a (takes json),
               json_to_recordset(a.takes) AS t (kind integer, per bigint) WHERE t.kind < 2));
END $$;

CREATE FUNCTION callgate.limit_told(now_us bigint, uses text)
RETURNS TABLE (kind integer, key bytea, value text, amount bigint, slot bigint, slot_us bigint, per bigint)
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.kind, decode(t.key, 'hex'), t.value, t.amount, w.now_slot, w.slot_us, t.per
    FROM json_to_recordset(uses::json) AS t (kind integer, key text, value text, amount bigint, age bigint, per bigint),
         callgate.limit_window(now_us - t.age, t.per) AS w
$$;

-- What the asking node knows of its own uses, for a server that lacks some: [{kind, key, value, amount, age, per}], kinds as above; of a
-- step `value` is its number, `amount` how often this node knows it was used, by anybody, and `per` its plan's end. First `begins`,
-- last `ends`, all in one transaction.
CREATE FUNCTION callgate.limit_tell(uses text, begins boolean, ends boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_us bigint;
BEGIN
    SELECT c.time_us INTO STRICT now_us FROM callgate.limit_clock AS c FOR UPDATE;
    IF begins THEN
        DELETE FROM callgate.limit_slot WHERE node = session_user;
        DELETE FROM callgate.limit_value WHERE node = session_user;
    END IF;
    INSERT INTO callgate.limit_slot AS s
        SELECT key, slot, session_user, least(sum(amount), 4000000000000000000), callgate.limit_over_us(slot, min(slot_us))
        FROM callgate.limit_told(now_us, uses) WHERE kind = 0 AND amount > 0 GROUP BY key, slot
    ON CONFLICT (key, slot, node) DO UPDATE SET used = least(s.used::numeric + excluded.used, 4000000000000000000);
    INSERT INTO callgate.limit_value AS v
        SELECT key, decode(value, 'hex'), session_user, max(slot), callgate.limit_over_us(max(slot), min(slot_us))
        FROM callgate.limit_told(now_us, uses) WHERE kind = 1 GROUP BY key, value
    ON CONFLICT (key, value, node) DO UPDATE
        SET (slot, until_us) = (greatest(v.slot, excluded.slot), greatest(v.until_us, excluded.until_us));
    INSERT INTO callgate.limit_step AS s
        SELECT key, value::integer, max(amount), max(per) + 86400000000
        FROM callgate.limit_told(now_us, uses) WHERE kind = 2 AND amount > 0 GROUP BY key, value
    ON CONFLICT (plan, step) DO UPDATE
        SET (used, until_us) = (greatest(s.used, excluded.used), greatest(s.until_us, excluded.until_us));
    UPDATE callgate.limit_clock
        SET longest_us = greatest(longest_us, (SELECT max(per) FROM callgate.limit_told(now_us, uses) WHERE kind < 2));
    IF ends THEN
        UPDATE callgate.limit_node SET told = true WHERE node = session_user;
    END IF;
END $$;
REVOKE ALL ON FUNCTION callgate.limit_database_us, callgate.limit_server, callgate.limit_break, callgate.limit_look, callgate.limit_forget,
    callgate.limit_beat, callgate.limit_window, callgate.limit_over_us, callgate.limit_take_amount, callgate.limit_take_value, callgate.limit_take_step,
    callgate.limit_give, callgate.limit_use, callgate.limit_told, callgate.limit_tell FROM PUBLIC;
GRANT EXECUTE ON FUNCTION callgate.limit_beat, callgate.limit_use, callgate.limit_tell TO callgate_node;

-- ---- views for readers ----------------------------------------------------------------------------------------------
-- What audit.sql has in a gate's own files stands here in a schema of its own, over all nodes: the same tables and views, each with
-- `node` first, and those of SQLite's functions that cookbook.md uses. A reader's role looks there, so that questions are asked as they
-- are written. Two nodes have rows of the same number: join by node and seq. What is `node` in a gate's file, its machine, is `host` here.
-- Nobody but a reader may ask any of it.

CREATE SCHEMA callgate_audit;
GRANT USAGE ON SCHEMA callgate_audit TO callgate_reader;

-- A time in microseconds as people read it, to the microsecond; what no calendar has, as the number.
CREATE FUNCTION callgate.time_text(time_us bigint) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN time_us BETWEEN 0 AND 253402300799999999
                THEN to_char(timestamp '1970-01-01' + time_us / 1000000 * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS')
                     || '.' || lpad((time_us % 1000000)::text, 6, '0') || 'Z'
                ELSE time_us::text END;

-- ---- SQLite's functions ----

CREATE FUNCTION callgate_audit.hex(bytes bytea) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN upper(encode(bytes, 'hex'));
-- Seconds since 1970, now and of a text in UTC.
CREATE FUNCTION callgate_audit.unixepoch() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
    RETURN floor(extract(epoch FROM now()))::bigint;
CREATE FUNCTION callgate_audit.unixepoch(said text) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
    RETURN floor(extract(epoch FROM (said || '+00')::timestamptz))::bigint;
-- The day of a number of seconds since 1970, in UTC: date(SECONDS, 'unixepoch').
CREATE FUNCTION callgate_audit.date(seconds bigint, said text) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN said = 'unixepoch' THEN (timestamp '1970-01-01' + seconds * interval '1 second')::date END;
-- And of a text, with a step: date('now', '-1 day').
CREATE FUNCTION callgate_audit.date(said text, step text) RETURNS date LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (CASE WHEN said = 'now' THEN now() AT TIME ZONE 'UTC' ELSE said::timestamp END + step::interval)::date;
-- Truth is 1 or 0: sum(verdict = 'deny') counts. An aggregate calls a function in plpgsql several times as quickly as one in SQL.
CREATE FUNCTION callgate.count_true(so_far bigint, is_true boolean) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN CASE WHEN is_true THEN so_far OPERATOR(pg_catalog.+) 1 ELSE so_far END;
END $$;
CREATE AGGREGATE callgate_audit.sum(boolean) (sfunc = callgate.count_true, stype = bigint, initcond = '0', combinefunc = int8pl,
                                              parallel = safe);

-- JSON in a text. What is none has no members. As text, numbers too: CAST(... AS BIGINT) makes numbers of them, in SQLite as well.
-- What catches errors cannot be asked within a plan of several processes, also not by the first of them. The steps of a path that stands in
-- the question are taken once, when it is planned.
CREATE FUNCTION callgate_audit.json_valid(said text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL UNSAFE AS $$
BEGIN
    RETURN said::pg_catalog.json IS NOT NULL;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN false;
END $$;
-- A path, "$.a[0].\"b c\"", as its steps.
CREATE FUNCTION callgate.json_steps(path text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (SELECT coalesce(array_agg(coalesce(step[1], step[2], step[3]) ORDER BY place), '{}')
            FROM regexp_matches(path, '\."([^"]*)"|\.([^."[]+)|\[(\d+)\]', 'g') WITH ORDINALITY AS found (step, place));
CREATE FUNCTION callgate.json_at(said text, steps text[], is_json boolean) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT
    PARALLEL UNSAFE COST 1000 AS $$
DECLARE
    found text;
BEGIN
    found := CASE WHEN is_json THEN (said::pg_catalog.json OPERATOR(pg_catalog.#>) steps)::text
                  ELSE said::pg_catalog.json OPERATOR(pg_catalog.#>>) steps END;
    IF NOT is_json AND pg_catalog.btrim(found, E' \t\r\n') IN ('true', 'false') AND
       pg_catalog.json_typeof(said::pg_catalog.json OPERATOR(pg_catalog.#>) steps) = 'boolean' THEN
        RETURN CASE WHEN found LIKE '%true%' THEN '1' ELSE '0' END;
    END IF;
    RETURN found;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END $$;
CREATE FUNCTION callgate_audit.json_extract(said text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL UNSAFE
    RETURN callgate.json_at(said, callgate.json_steps(path), false);
CREATE FUNCTION callgate.json_of(said text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL UNSAFE
    RETURN callgate.json_at(said, callgate.json_steps(path), true);
CREATE OPERATOR callgate_audit.-> (leftarg = text, rightarg = text, function = callgate.json_of);
CREATE FUNCTION callgate_audit.json_each(said text) RETURNS TABLE (key text, value text, type text) LANGUAGE plpgsql IMMUTABLE STRICT
    PARALLEL UNSAFE ROWS 4 COST 1000 SET search_path = pg_catalog AS $$
DECLARE
    whole json;
BEGIN
    whole := said::json;
    RETURN QUERY
        SELECT one.key, callgate.json_at(one.value::text, '{}', false),
               CASE json_typeof(one.value) WHEN 'string' THEN 'text' WHEN 'boolean' THEN one.value::text
                    WHEN 'number' THEN CASE WHEN one.value::text ~ '^-?[0-9]+$' THEN 'integer' ELSE 'real' END
                    ELSE json_typeof(one.value) END
        FROM (SELECT member.key, member.value
              FROM json_each(CASE json_typeof(whole) WHEN 'object' THEN whole ELSE '{}' END) AS member
              UNION ALL
              SELECT (element.place - 1)::text, element.value
              FROM json_array_elements(CASE json_typeof(whole) WHEN 'array' THEN whole ELSE '[]' END)
                   WITH ORDINALITY AS element (value, place)) AS one;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN;
END $$;

-- ---- the tables, as text ----

-- With its time for people, so that who asks for nothing that came of calls need not ask `call`, which looks for each one's outcome.
CREATE VIEW callgate_audit.decision AS
    SELECT node, day, seq, callgate.time_text(time_us) AS time, time_us, tenant_previous,
           callgate.text_of(tenant) COLLATE "C" AS tenant, callgate.text_of(principal) COLLATE "C" AS principal,
           authentication, callgate.text_of(client) COLLATE "C" AS client,
           session, callgate.text_of(host) COLLATE "C" AS host, callgate.text_of(correlation) COLLATE "C" AS correlation,
           callgate.text_of(correlation_replaced) COLLATE "C" AS correlation_replaced,
           callgate.text_of(trace) COLLATE "C" AS trace, callgate.text_of(upstream) COLLATE "C" AS upstream,
           callgate.text_of(dialect) COLLATE "C" AS dialect, callgate.text_of(protocol_version) COLLATE "C" AS protocol_version,
           direction, callgate.text_of(method) COLLATE "C" AS method, callgate.text_of(tool) COLLATE "C" AS tool,
           callgate.text_of(rpc_id) COLLATE "C" AS rpc_id, arguments_bytes, arguments_digest, arguments_cut, arguments_redacted,
           begin_digest, body_bytes, body_digest, query_bytes, query_digest, verdict, reason,
           callgate.text_of(rule) COLLATE "C" AS rule, callgate.text_of(rule_reason) COLLATE "C" AS rule_reason,
           callgate.text_of(rules) COLLATE "C" AS rules, callgate.text_of(undecided) COLLATE "C" AS undecided,
           callgate.text_of(monitor) COLLATE "C" AS monitor, policy_version, policy_hash, judge_us, status, latency_us,
           expects_outcome, callgate.text_of(target) COLLATE "C" AS target, params_bytes, params_digest,
           callgate.text_of(groups) COLLATE "C" AS groups, callgate.text_of(scopes) COLLATE "C" AS scopes,
           callgate.text_of(issuer) COLLATE "C" AS issuer, callgate.text_of(token_key) COLLATE "C" AS token_key, claims_bytes,
           claims_digest, callgate.text_of(plan) COLLATE "C" AS plan, callgate.text_of(plan_step) COLLATE "C" AS plan_step,
           callgate.text_of(definition) COLLATE "C" AS definition, api_key, callgate.text_of(agent) COLLATE "C" AS agent,
           callgate.text_of(agent_from) COLLATE "C" AS agent_from, callgate.text_of(actors) COLLATE "C" AS actors,
           callgate.text_of(client_says) COLLATE "C" AS client_says, callgate.text_of(via) COLLATE "C" AS via,
           callgate.text_of(agent_rule) COLLATE "C" AS agent_rule,
           hash, salt,
           callgate.text_of(arguments) COLLATE "C" AS arguments,
           callgate.text_of(arguments_begin) COLLATE "C" AS arguments_begin, callgate.text_of(params) COLLATE "C" AS params,
           callgate.text_of(query) COLLATE "C" AS query, callgate.text_of(claims) COLLATE "C" AS claims
    FROM callgate.decision;

CREATE VIEW callgate_audit.outcome AS
    SELECT node, day, seq, time_us, tenant_previous, callgate.text_of(tenant) COLLATE "C" AS tenant, decision, outcome, reason,
           status, error_code, response_bytes, response_digest, server_requests, server_notifications, server_denied,
           latency_us, upstream_us, answer_bytes, answer_digest, callgate.text_of(answer_rule) COLLATE "C" AS answer_rule,
           answer_effect, callgate.text_of(answer_found) COLLATE "C" AS answer_found,
           callgate.text_of(answer_rules) COLLATE "C" AS answer_rules,
           callgate.text_of(answer_undecided) COLLATE "C" AS answer_undecided, response_digest_before, server_withheld, hash,
           answer_salt, callgate.text_of(answer) COLLATE "C" AS answer
    FROM callgate.outcome;

CREATE VIEW callgate_audit.event AS
    SELECT node, day, seq, time_us, tenant_previous, callgate.text_of(tenant) COLLATE "C" AS tenant, kind,
           callgate.text_of(actor) COLLATE "C" AS actor, callgate.text_of(detail) COLLATE "C" AS detail, hash
    FROM callgate.event;

CREATE VIEW callgate_audit.file AS
    SELECT node, seq, format, created_us, id, previous, hash FROM callgate.file;

-- The nodes whose rows are here: up to which number, and when the last ones came.
CREATE VIEW callgate_audit.node AS
    SELECT node, seq, moved FROM callgate.trail_cursor;

CREATE VIEW callgate_audit.checkpoint AS
    SELECT node, size, time_us, callgate.text_of(note) COLLATE "C" AS note FROM callgate.checkpoint;

-- ---- views for people ----

-- One row a decision, with what came of it. An outcome lies in the day of its decision.
CREATE VIEW callgate_audit.call AS
    SELECT d.node, d.seq, d.time,
           d.tenant, d.principal, d.correlation, d.upstream, d.dialect, d.method, d.tool, d.arguments,
           d.verdict, d.reason, d.rule, d.policy_version, o.outcome, coalesce(o.status, d.status) AS status,
           coalesce(o.latency_us, d.latency_us) AS latency_us,
           o.reason AS outcome_reason, o.error_code, o.response_bytes, o.upstream_us,
           o.server_requests, o.server_notifications, o.server_denied, o.seq AS outcome_seq,
           d.rule_reason, d.rules, d.undecided, d.monitor, d.judge_us,
           d.authentication, d.client, encode(d.session, 'hex') AS session, d.host, d.direction, d.protocol_version,
           d.rpc_id, d.trace, d.correlation_replaced, d.arguments_bytes, d.arguments_cut, d.arguments_redacted,
           d.arguments_begin, d.body_bytes, d.query_bytes, encode(d.policy_hash, 'hex') AS policy_hash,
           d.expects_outcome, d.time_us, d.target, d.query, d.params, d.params_bytes, o.answer, o.answer_bytes,
           d.groups, d.scopes, d.issuer, d.token_key, d.claims, d.claims_bytes, d.plan, d.plan_step,
           d.definition, d.api_key, d.agent, d.agent_from, d.actors, d.client_says, d.via, d.agent_rule,
           o.answer_rule, o.answer_effect, o.answer_found, o.answer_rules, o.answer_undecided, o.server_withheld, d.day
    FROM callgate_audit.decision AS d
         LEFT JOIN callgate_audit.outcome AS o ON o.node = d.node AND o.decision = d.seq AND o.day = d.day;

CREATE VIEW callgate_audit.denial AS
    SELECT * FROM callgate_audit.call WHERE verdict <> 'permit';

CREATE VIEW callgate_audit.unfinished AS
    SELECT * FROM callgate_audit.call WHERE expects_outcome = 1 AND outcome IS NULL;

-- Everything in the order in which each node wrote it. A number missing within a node is a missing row.
CREATE VIEW callgate_audit.entry AS
    SELECT node, seq, 'decision' AS kind, time_us, tenant, correlation, verdict || ' ' || coalesce(tool, method, '') AS what, hash, day
    FROM callgate_audit.decision
    UNION ALL
    SELECT node, seq, 'outcome', time_us, tenant, NULL, outcome || ' of ' || decision, hash, day FROM callgate_audit.outcome
    UNION ALL
    SELECT node, seq, 'event', time_us, tenant, NULL, kind, hash, day FROM callgate_audit.event;

CREATE VIEW callgate_audit.policy_text AS
    SELECT node, sha256, string_agg(text, '' ORDER BY part) AS text
    FROM (SELECT DISTINCT node, callgate_audit.json_extract(detail, '$.sha256') AS sha256,
                 lpad(callgate_audit.json_extract(detail, '$.part'), 9, '0') AS part, callgate_audit.json_extract(detail, '$.text') AS text
          FROM callgate_audit.event WHERE kind = 'policy_text') AS piece
    GROUP BY node, sha256;

CREATE VIEW callgate_audit.event_log AS
    SELECT node, seq, callgate.time_text(time_us) AS time, kind, actor, tenant, detail, time_us, day FROM callgate_audit.event;

-- Who uses which tool, and how it goes, by day (UTC), all nodes together. Asked for a day it reads that day alone. Groups are of what was
-- sent, with each principal of its own first, which several processes can count side by side; they are made text of once they are few.
CREATE VIEW callgate.tool_principal AS
    SELECT d.day, d.tenant, d.upstream, d.tool, d.principal, count(*) AS calls,
           count(*) FILTER (WHERE d.verdict = 'permit') AS permitted, count(*) FILTER (WHERE d.verdict = 'deny') AS denied,
           count(*) FILTER (WHERE d.verdict = 'hold') AS held,
           count(*) FILTER (WHERE o.outcome IN ('tool_error', 'protocol_error', 'http_error', 'upstream_failure', 'timeout',
                                                'refused', 'unknown')) AS failed,
           sum(coalesce(o.latency_us, d.latency_us)) AS latency_us, count(coalesce(o.latency_us, d.latency_us)) AS timed,
           max(coalesce(o.latency_us, d.latency_us)) AS max_latency_us, min(d.time_us) AS first_us, max(d.time_us) AS last_us
    FROM callgate.decision AS d LEFT JOIN callgate.outcome AS o ON o.node = d.node AND o.decision = d.seq AND o.day = d.day
    WHERE d.tool IS NOT NULL GROUP BY d.day, d.tenant, d.upstream, d.tool, d.principal;

CREATE VIEW callgate_audit.tool_day AS
    SELECT day, callgate.text_of(tenant) COLLATE "C" AS tenant, callgate.text_of(upstream) COLLATE "C" AS upstream,
           callgate.text_of(tool) COLLATE "C" AS tool, calls, permitted, denied, held, failed, principals, mean_latency_us, max_latency_us,
           callgate.time_text(first_us) AS first, callgate.time_text(last_us) AS last
    FROM (SELECT day, tenant, upstream, tool, sum(calls)::bigint AS calls, sum(permitted)::bigint AS permitted,
                 sum(denied)::bigint AS denied, sum(held)::bigint AS held, sum(failed)::bigint AS failed, count(principal) AS principals,
                 trunc(sum(latency_us) / nullif(sum(timed), 0))::bigint AS mean_latency_us, max(max_latency_us) AS max_latency_us,
                 min(first_us) AS first_us, max(last_us) AS last_us
          FROM callgate.tool_principal GROUP BY day, tenant, upstream, tool) AS grouped;

-- Likewise of all days together: it reads every call.
CREATE VIEW callgate_audit.tool_use AS
    SELECT callgate.text_of(tenant) COLLATE "C" AS tenant, callgate.text_of(upstream) COLLATE "C" AS upstream,
           callgate.text_of(tool) COLLATE "C" AS tool, calls, permitted, denied, held, failed, principals, mean_latency_us, max_latency_us,
           callgate.time_text(first_us) AS first, callgate.time_text(last_us) AS last
    FROM (SELECT tenant, upstream, tool, sum(calls)::bigint AS calls, sum(permitted)::bigint AS permitted,
                 sum(denied)::bigint AS denied, sum(held)::bigint AS held, sum(failed)::bigint AS failed,
                 count(DISTINCT principal) AS principals, trunc(sum(latency_us) / nullif(sum(timed), 0))::bigint AS mean_latency_us,
                 max(max_latency_us) AS max_latency_us, min(first_us) AS first_us, max(last_us) AS last_us
          FROM callgate.tool_principal GROUP BY tenant, upstream, tool) AS grouped;

-- How much each tenant does, by day (UTC), all nodes together. Asked for a day it reads that day's decisions alone.
CREATE VIEW callgate_audit.tenant_day AS
    SELECT callgate.text_of(tenant) COLLATE "C" AS tenant, day, calls, permitted, denied, held, principals, tools
    FROM (SELECT tenant, day, sum(calls)::bigint AS calls, sum(permitted)::bigint AS permitted, sum(denied)::bigint AS denied,
                 sum(held)::bigint AS held, count(DISTINCT principal) AS principals, count(DISTINCT tool) AS tools
          FROM (SELECT tenant, day, principal, tool, count(*) AS calls,
                       count(*) FILTER (WHERE verdict = 'permit') AS permitted, count(*) FILTER (WHERE verdict = 'deny') AS denied,
                       count(*) FILTER (WHERE verdict = 'hold') AS held
                FROM callgate.decision GROUP BY tenant, day, principal, tool) AS d
          GROUP BY tenant, day) AS grouped;

GRANT SELECT ON ALL TABLES IN SCHEMA callgate_audit TO callgate_reader;
