-- A database as the first migration made it and an API and a worker filled it: pg_dump --inserts of Postgres 15, without its comments.
-- Two sessions of project demo: one completed a turn with a form and a task of an MCP server; the other one waits for the client's
-- tool get_weather (toolu_3), and a message waits behind. Rows of other tables were added by hand.
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.count_storage() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      DECLARE
        stored bigint := CASE WHEN TG_OP <> 'DELETE' AND NEW.deleted_at IS NULL THEN NEW.size_bytes ELSE 0 END;
        removed bigint := CASE WHEN TG_OP <> 'INSERT' AND OLD.deleted_at IS NULL THEN OLD.size_bytes ELSE 0 END;
      BEGIN
        IF stored <> removed THEN
          INSERT INTO project_storage VALUES (coalesce(NEW.project_id, OLD.project_id), stored - removed)
          ON CONFLICT (project_id) DO UPDATE SET bytes = project_storage.bytes + excluded.bytes;
        END IF;
        RETURN NULL;
      END $$;
CREATE FUNCTION public.lock_session_for_turn(the_project text, the_session text) RETURNS TABLE(model_id text, mcp_servers integer, turn_count integer, last_state text, open_turns bigint, max_running_turns integer, has_waiting boolean, cost_before numeric, was_unpriced boolean, currency text)
    LANGUAGE plpgsql ROWS 1
    AS $$
      #variable_conflict use_column
      DECLARE
        most integer;
        taken bigint;
        connections integer := current_setting('max_connections')::integer;
      BEGIN
        PERFORM FROM sessions WHERE id = the_session AND project_id = the_project FOR NO KEY UPDATE;
        SELECT max_running_turns INTO most FROM projects WHERE id = the_project;
        -- A limit within the number of connections needs the lock whatever is taken.
        IF most > connections THEN
          SELECT count(*) INTO taken FROM open_turns WHERE project_id = the_project;
        END IF;
        IF most <= connections OR taken + connections >= most THEN
          PERFORM pg_advisory_xact_lock(hashtextextended('new turn ' || the_project, 0));
          SELECT count(*) INTO taken FROM open_turns WHERE project_id = the_project;
        END IF;
        RETURN QUERY
          SELECT s.model_id, cardinality(s.mcp_servers), s.turn_count,
            t.state, taken, most, EXISTS (SELECT FROM waiting_messages w WHERE w.session_id = s.id),
            coalesce(t.cost_before + t.cost, 0), coalesce(t.was_unpriced OR t.is_unpriced, false),
            coalesce(t.currency, s.currency)
          FROM sessions s LEFT JOIN turns t ON t.id = s.last_turn_id
          WHERE s.id = the_session AND s.project_id = the_project AND s.deleted_at IS NULL;
      END $$;
CREATE FUNCTION public.mcp_tool_list(tools json) RETURNS json
    LANGUAGE sql IMMUTABLE
    AS $$
        SELECT coalesce(json_agg(json_build_object('name', tool->'name', 'description', tool->'description') ORDER BY n), '[]')
        FROM json_array_elements(tools) WITH ORDINALITY AS listed (tool, n)
      $$;
CREATE FUNCTION public.mcp_toolset_hash(tools json) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
        SELECT encode(sha256(convert_to(tools::text, 'UTF8')), 'hex')
      $$;
CREATE FUNCTION public.metadata_terms(project_id text, metadata json) RETURNS bytea[]
    LANGUAGE sql IMMUTABLE
    AS $$
        SELECT coalesce(array_agg(substr(sha256(convert_to(project_id || ' ' || length(key)::text || ' ' || key || value, 'UTF8')), 1, 16)), '{}')
        FROM json_each_text(metadata)
      $$;
CREATE FUNCTION public.pause_schedules() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      BEGIN
        UPDATE schedules SET state = 'paused', paused_reason = 'session_deleted', next_run_at = NULL,
          version = version + 1, updated_at = clock_timestamp()
        WHERE session_id = NEW.id AND deleted_at IS NULL AND state <> 'ended';
        RETURN NULL;
      END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    name text,
    key_hash bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone
);
CREATE TABLE public.compactions (
    session_id text NOT NULL COLLATE pg_catalog."C",
    turn_number integer NOT NULL,
    summary text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.deltas (
    stored_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    turn_id text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    attempt integer NOT NULL,
    last integer NOT NULL,
    message_id text NOT NULL COLLATE pg_catalog."C",
    runs text NOT NULL
)
PARTITION BY RANGE (stored_at);
CREATE TABLE public.deltas_202611260050 (
    stored_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    turn_id text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    attempt integer NOT NULL,
    last integer NOT NULL,
    message_id text NOT NULL COLLATE pg_catalog."C",
    runs text NOT NULL
)
WITH (autovacuum_vacuum_insert_threshold='-1');
CREATE TABLE public.elicitations (
    id text NOT NULL COLLATE pg_catalog."C",
    turn_id text NOT NULL COLLATE pg_catalog."C",
    step integer NOT NULL,
    index integer NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C",
    mode text NOT NULL,
    message text NOT NULL,
    requested_schema json,
    url text,
    request text NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    answer_position integer,
    delivered_at timestamp with time zone,
    CONSTRAINT elicitations_check CHECK (((state = 'answered'::text) = (answer_position IS NOT NULL))),
    CONSTRAINT elicitations_check1 CHECK (((mode = 'form'::text) = (requested_schema IS NOT NULL))),
    CONSTRAINT elicitations_check2 CHECK (((mode = 'url'::text) = (url IS NOT NULL))),
    CONSTRAINT elicitations_mode_check CHECK ((mode = ANY (ARRAY['form'::text, 'url'::text]))),
    CONSTRAINT elicitations_state_check CHECK ((state = ANY (ARRAY['open'::text, 'answered'::text, 'expired'::text, 'withdrawn'::text, 'lost'::text, 'cancelled'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.events (
    id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    turn_id text NOT NULL COLLATE pg_catalog."C",
    turn_number integer NOT NULL,
    "position" integer NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    data json NOT NULL,
    page_bytes integer GENERATED ALWAYS AS (octet_length((data)::text)) STORED NOT NULL,
    created_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.files (
    id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    filename text NOT NULL,
    mime_type text NOT NULL,
    size_bytes bigint NOT NULL,
    origin text NOT NULL,
    session_id text COLLATE pg_catalog."C",
    storage_key text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT files_origin_check CHECK ((origin = ANY (ARRAY['UPLOAD'::text, 'OUTPUT'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.idempotency_records (
    project_id text NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    request_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    lease_until timestamp with time zone,
    lease_id text COLLATE pg_catalog."C",
    status integer,
    response json
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.installation (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    is_only boolean DEFAULT true NOT NULL,
    CONSTRAINT installation_is_only_check CHECK (is_only)
);
CREATE TABLE public.leases (
    name text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    until timestamp with time zone NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.mcp_oauth (
    id text NOT NULL COLLATE pg_catalog."C",
    scopes text[],
    client text NOT NULL,
    client_is_dynamic boolean NOT NULL,
    discovery json NOT NULL,
    redirect_uri text NOT NULL,
    tokens text,
    tokens_expire_at timestamp with time zone,
    refresh_claim text,
    refresh_claimed_until timestamp with time zone,
    authorized_at timestamp with time zone,
    state_hash bytea,
    state_expires_at timestamp with time zone,
    code_verifier text
);
CREATE TABLE public.mcp_servers (
    id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL COLLATE pg_catalog."C",
    auth_type text NOT NULL,
    auth_header text,
    credential text,
    credential_version integer DEFAULT 1 NOT NULL,
    allowed_tools text[],
    tools json NOT NULL,
    tool_list json GENERATED ALWAYS AS (public.mcp_tool_list(tools)) STORED NOT NULL,
    toolset_hash text GENERATED ALWAYS AS (public.mcp_toolset_hash(tools)) STORED NOT NULL COLLATE pg_catalog."C",
    pin_tools boolean DEFAULT false NOT NULL,
    accepted_hash text COLLATE pg_catalog."C",
    changed_tools json DEFAULT '[]'::json NOT NULL,
    page_bytes integer GENERATED ALWAYS AS ((octet_length((public.mcp_tool_list(tools))::text) + octet_length((changed_tools)::text))) STORED NOT NULL,
    server_name text,
    last_probed_at timestamp with time zone,
    last_connected_at timestamp with time zone,
    last_connect_error text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT mcp_servers_auth_type_check CHECK ((auth_type = ANY (ARRAY['NONE'::text, 'BEARER'::text, 'HEADER'::text, 'OAUTH'::text])))
);
CREATE TABLE public.mcp_tasks (
    turn_id text NOT NULL COLLATE pg_catalog."C",
    step integer NOT NULL,
    index integer NOT NULL,
    server_id text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    mcp_session json,
    status text NOT NULL,
    message text,
    poll_ms integer NOT NULL,
    shown_status text DEFAULT 'working'::text NOT NULL,
    shown_message text,
    shown_at timestamp with time zone,
    lost_reads integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ended_at timestamp with time zone,
    cancelled_at timestamp with time zone
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.mcp_toolsets (
    server_id text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL COLLATE pg_catalog."C",
    tools json NOT NULL
);
CREATE TABLE public.migrations (
    id integer NOT NULL,
    "timestamp" bigint NOT NULL,
    name character varying NOT NULL
);
CREATE SEQUENCE public.migrations_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.migrations_id_seq OWNED BY public.migrations.id;
CREATE TABLE public.model_attempts (
    turn_id text NOT NULL COLLATE pg_catalog."C",
    step integer NOT NULL,
    "position" integer NOT NULL,
    attempt integer NOT NULL,
    message_id text NOT NULL COLLATE pg_catalog."C",
    worker_id text NOT NULL COLLATE pg_catalog."C",
    task_token bytea,
    joined_by text COLLATE pg_catalog."C",
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ended_at timestamp with time zone,
    model_id text NOT NULL COLLATE pg_catalog."C",
    usage json,
    cost numeric,
    currency text,
    error json
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.model_steps (
    turn_id text NOT NULL COLLATE pg_catalog."C",
    step integer NOT NULL,
    message_id text NOT NULL COLLATE pg_catalog."C",
    model_id text NOT NULL COLLATE pg_catalog."C",
    content json NOT NULL,
    stop_reason text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.open_turns (
    turn_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    cancel_requested_at timestamp with time zone,
    checked_at timestamp with time zone
)
WITH (fillfactor='75', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
CREATE TABLE public.project_storage (
    project_id text NOT NULL COLLATE pg_catalog."C",
    bytes bigint NOT NULL
);
CREATE TABLE public.projects (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    max_running_turns integer DEFAULT 100 NOT NULL,
    rate_per_minute integer,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT projects_max_running_turns_check CHECK ((max_running_turns > 0)),
    CONSTRAINT projects_rate_per_minute_check CHECK ((rate_per_minute >= 0))
);
CREATE TABLE public.rate_limits (
    key character varying(255) NOT NULL COLLATE pg_catalog."C",
    points integer DEFAULT 0 NOT NULL,
    expire bigint
)
WITH (fillfactor='50');
CREATE TABLE public.required_actions (
    turn_id text NOT NULL COLLATE pg_catalog."C",
    step integer NOT NULL,
    index integer NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C",
    tool_use_id text COLLATE pg_catalog."C",
    kind text NOT NULL,
    needed_cost numeric,
    state text DEFAULT 'planned'::text NOT NULL,
    asked_at timestamp with time zone,
    expires_at timestamp with time zone,
    answer_position integer,
    answered_at timestamp with time zone,
    taken_at timestamp with time zone,
    CONSTRAINT required_actions_check CHECK (((kind = 'budget'::text) = (index = '-1'::integer))),
    CONSTRAINT required_actions_check1 CHECK (((kind = 'budget'::text) = (tool_use_id IS NULL))),
    CONSTRAINT required_actions_check2 CHECK ((((state = 'planned'::text) = (asked_at IS NULL)) OR (state = 'cancelled'::text))),
    CONSTRAINT required_actions_check3 CHECK (((asked_at IS NULL) = (expires_at IS NULL))),
    CONSTRAINT required_actions_check4 CHECK (((state = ANY (ARRAY['allowed'::text, 'denied'::text, 'answered'::text])) = (answered_at IS NOT NULL))),
    CONSTRAINT required_actions_check5 CHECK (((answer_position IS NOT NULL) = ((answered_at IS NOT NULL) AND (kind <> 'budget'::text)))),
    CONSTRAINT required_actions_check6 CHECK (((state <> ALL (ARRAY['allowed'::text, 'denied'::text])) OR (kind = 'tool_confirmation'::text))),
    CONSTRAINT required_actions_check7 CHECK (((state <> 'answered'::text) OR (kind = ANY (ARRAY['custom_tool_result'::text, 'budget'::text])))),
    CONSTRAINT required_actions_kind_check CHECK ((kind = ANY (ARRAY['tool_confirmation'::text, 'custom_tool_result'::text, 'budget'::text]))),
    CONSTRAINT required_actions_state_check CHECK ((state = ANY (ARRAY['planned'::text, 'open'::text, 'allowed'::text, 'denied'::text, 'answered'::text, 'expired'::text, 'cancelled'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.schedule_runs (
    schedule_id text NOT NULL COLLATE pg_catalog."C",
    scheduled_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    state text NOT NULL,
    reason text,
    session_id text COLLATE pg_catalog."C",
    turn_id text COLLATE pg_catalog."C",
    is_settled boolean NOT NULL,
    CONSTRAINT schedule_runs_check CHECK (((state = 'skipped'::text) = (reason IS NOT NULL))),
    CONSTRAINT schedule_runs_check1 CHECK (((state = 'started'::text) = (turn_id IS NOT NULL))),
    CONSTRAINT schedule_runs_state_check CHECK ((state = ANY (ARRAY['started'::text, 'skipped'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.schedules (
    id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    name text,
    cron text,
    at timestamp with time zone,
    timezone text NOT NULL,
    target text NOT NULL,
    session_id text COLLATE pg_catalog."C",
    message text NOT NULL,
    overlap text NOT NULL,
    end_at timestamp with time zone,
    state text DEFAULT 'active'::text NOT NULL,
    paused_reason text,
    next_run_at timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    synced_version integer DEFAULT 0 NOT NULL,
    refill_at timestamp with time zone,
    checked_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT schedules_check CHECK (((deleted_at IS NOT NULL) OR ((cron IS NULL) <> (at IS NULL)))),
    CONSTRAINT schedules_check1 CHECK (((paused_reason IS NULL) OR (state = 'paused'::text))),
    CONSTRAINT schedules_check2 CHECK (((state = 'active'::text) = (next_run_at IS NOT NULL))),
    CONSTRAINT schedules_overlap_check CHECK ((overlap = ANY (ARRAY['skip'::text, 'queue'::text]))),
    CONSTRAINT schedules_paused_reason_check CHECK ((paused_reason = ANY (ARRAY['session_deleted'::text, 'failures'::text]))),
    CONSTRAINT schedules_state_check CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text, 'ended'::text])))
);
CREATE TABLE public.session_states (
    session_id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT session_states_state_check CHECK ((state = ANY (ARRAY['idle'::text, 'completed'::text, 'cancelled'::text, 'failed'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.sessions (
    id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    model_id text NOT NULL,
    thinking_enabled boolean NOT NULL,
    instruction text,
    mcp_servers text[] NOT NULL,
    metadata json NOT NULL,
    tools json DEFAULT '[]'::json NOT NULL,
    model_tools json DEFAULT '[]'::json NOT NULL,
    currency text,
    fallback_model_ids text[] DEFAULT '{}'::text[] NOT NULL,
    budget json,
    page_bytes integer GENERATED ALWAYS AS (((octet_length((tools)::text) + octet_length((metadata)::text)) + COALESCE(octet_length(instruction), 0))) STORED NOT NULL,
    turn_count integer DEFAULT 0 NOT NULL,
    last_turn_id text COLLATE pg_catalog."C",
    preview text,
    metadata_terms bytea[] GENERATED ALWAYS AS (public.metadata_terms(project_id, metadata)) STORED NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    metadata_updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deleted_at timestamp with time zone
)
WITH (fillfactor='85', autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.skills (
    id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL,
    size_bytes bigint NOT NULL,
    storage_key text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deleted_at timestamp with time zone
);
CREATE TABLE public.tool_calls (
    turn_id text NOT NULL COLLATE pg_catalog."C",
    step integer NOT NULL,
    index integer NOT NULL,
    tool_use_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    input json NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    content json,
    is_error boolean,
    overflow_key text COLLATE pg_catalog."C",
    worker_id text COLLATE pg_catalog."C",
    task_token bytea,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT tool_calls_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'started'::text, 'task'::text, 'done'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.turn_servers (
    turn_id text NOT NULL COLLATE pg_catalog."C",
    server_id text NOT NULL COLLATE pg_catalog."C",
    index integer NOT NULL,
    name text NOT NULL,
    toolset_hash text NOT NULL COLLATE pg_catalog."C",
    offered_tools text[],
    connected boolean NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.turn_usage (
    turn_id text NOT NULL COLLATE pg_catalog."C",
    model_id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    ended_at timestamp with time zone NOT NULL,
    metadata json NOT NULL,
    model_calls integer NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cache_read_input_tokens bigint NOT NULL,
    cache_creation_input_tokens bigint NOT NULL,
    cost numeric NOT NULL,
    currency text,
    is_unpriced boolean NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.turns (
    id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    number integer NOT NULL,
    state text NOT NULL,
    "position" integer DEFAULT 0 NOT NULL,
    trace text,
    model_id text,
    thinking_enabled boolean,
    fallback_model_id text,
    continues_turn_id text COLLATE pg_catalog."C",
    message_number integer,
    from_queue boolean DEFAULT false NOT NULL,
    has_waiting boolean DEFAULT false NOT NULL,
    end_reason text,
    queued_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    transition_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    cancel_requested_at timestamp with time zone,
    progress_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    connected_at timestamp with time zone,
    connect_ms integer,
    first_token_at timestamp with time zone,
    input_tokens bigint DEFAULT 0 NOT NULL,
    output_tokens bigint DEFAULT 0 NOT NULL,
    cache_read_input_tokens bigint DEFAULT 0 NOT NULL,
    cache_creation_input_tokens bigint DEFAULT 0 NOT NULL,
    model_calls integer DEFAULT 0 NOT NULL,
    cost numeric DEFAULT 0 NOT NULL,
    currency text,
    is_unpriced boolean DEFAULT false NOT NULL,
    cost_before numeric DEFAULT 0 NOT NULL,
    was_unpriced boolean DEFAULT false NOT NULL,
    model_time interval,
    model_started_at timestamp with time zone,
    tools_time interval,
    tools_started_at timestamp with time zone,
    tools_running integer DEFAULT 0 NOT NULL,
    waiting_time interval,
    waiting_started_at timestamp with time zone,
    task_time interval,
    task_started_at timestamp with time zone,
    tasks_running integer DEFAULT 0 NOT NULL,
    CONSTRAINT turns_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'cancelled'::text, 'failed'::text])))
)
WITH (fillfactor='75', autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.waiting_messages (
    id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    turn_id text NOT NULL COLLATE pg_catalog."C",
    steers integer NOT NULL,
    arrival bigint NOT NULL,
    data json NOT NULL,
    trace text,
    created_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
ALTER TABLE public.waiting_messages ALTER COLUMN arrival ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.waiting_messages_arrival_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.webhook_deliveries (
    id text NOT NULL COLLATE pg_catalog."C",
    webhook_id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    event_type text NOT NULL,
    event_id text COLLATE pg_catalog."C",
    session_id text COLLATE pg_catalog."C",
    turn_id text COLLATE pg_catalog."C",
    metadata json DEFAULT '{}'::json NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL COLLATE pg_catalog."C",
    attempts json DEFAULT '[]'::json NOT NULL,
    attempt_count integer DEFAULT 0 NOT NULL,
    pauses integer DEFAULT 0 NOT NULL,
    retry_requests integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone,
    wake_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT webhook_deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');
CREATE TABLE public.webhooks (
    id text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL,
    event_types text[] NOT NULL,
    description text,
    enabled boolean NOT NULL,
    disabled_reason text,
    secret text,
    previous_secret text,
    previous_secret_until timestamp with time zone,
    failing_since timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deleted_at timestamp with time zone
);
CREATE TABLE public.workers (
    id text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    task_queue text NOT NULL COLLATE pg_catalog."C",
    until timestamp with time zone NOT NULL,
    is_draining boolean DEFAULT false NOT NULL,
    dead_at timestamp with time zone
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.deltas ATTACH PARTITION public.deltas_202611260050 FOR VALUES FROM ('2026-11-26 00:50:00+00') TO ('2026-11-26 01:00:00+00');
ALTER TABLE ONLY public.migrations ALTER COLUMN id SET DEFAULT nextval('public.migrations_id_seq'::regclass);
INSERT INTO public.api_keys VALUES ('key_01m8anayqebgan3vzs4rbg14qm', 'proj_01m8anayqpd6pp3z8038xdnjxf', NULL, '\x0fb57dc57332a24a9c20f52128e1dce148a189eab9de5cfbe68cc674485fd4f4', '{skills:write,skills:read,mcp_servers:write,mcp_servers:read,sessions:write,sessions:read,files:write,files:read,webhooks:write,webhooks:read}', '2026-11-26 00:50:53.314524+00', NULL, NULL, '2026-11-26 00:00:00+00');
INSERT INTO public.compactions VALUES ('ses_01m8anb0cjznvh0g9g92edjtj8', 1, 'The branch main was deployed.', '2026-11-26 00:50:58.953228+00');
INSERT INTO public.deltas_202611260050 VALUES ('2026-11-26 00:50:58.380738+00', 'turn_01m8anb0drxk947rkh8jnz6zwe', 7, 1, 4, 'msg_01m8anb3hvvbfk7ysvhd1v394h', '[["agent.message.delta","Deployed"," the"," branch"," main."]]');
INSERT INTO public.elicitations VALUES ('elic_01m8anb1t9v2tn1hxgppwqgqcc', 'turn_01m8anb0drxk947rkh8jnz6zwe', 1, 0, 'ses_01m8anb0cjznvh0g9g92edjtj8', 'form', 'Which branch?', '{"type":"object","properties":{"branch":{"type":"string"}},"required":["branch"]}', NULL, '0', 'answered', '2026-11-26 00:50:56.461347+00', '2026-11-26 01:00:56.461347+00', 4, NULL);
INSERT INTO public.events VALUES ('evt_01m8anb0drxk947rkh8jnz6zwf', 'ses_01m8anb0cjznvh0g9g92edjtj8', 'turn_01m8anb0drxk947rkh8jnz6zwe', 1, 1, 'user.message', '{"content":"Deploy it, please.","files":[{"id":"file_01m8anb03kf09wfq2zrjbxnq74","filename":"hello.txt","mime_type":"text/plain","size_bytes":5}],"skills":[]}', DEFAULT, '2026-11-26 00:50:55.036005+00');
INSERT INTO public.events VALUES ('evt_01m8anb1e62xtge2k1vwbbdhsk', 'ses_01m8anb0cjznvh0g9g92edjtj8', 'turn_01m8anb0drxk947rkh8jnz6zwe', 1, 2, 'agent.tool_use', '{"tool_use_id":"toolu_1","name":"mcp__ops__deploy","input":{},"evaluated_permission":"allow"}', DEFAULT, '2026-11-26 00:50:56.099041+00');
INSERT INTO public.events VALUES ('evt_01m8anb1tkcnq81fc08vfj9yr0', 'ses_01m8anb0cjznvh0g9g92edjtj8', 'turn_01m8anb0drxk947rkh8jnz6zwe', 1, 3, 'agent.requires_action', '{"required_actions":[{"type":"elicitation","elicitation_id":"elic_01m8anb1t9v2tn1hxgppwqgqcc","tool_use_id":"toolu_1","name":"mcp__ops__deploy","mode":"form","message":"Which branch?","requested_schema":{"type":"object","properties":{"branch":{"type":"string"}},"required":["branch"]},"expires_at":"2026-11-26T01:00:56.461347Z"}]}', DEFAULT, '2026-11-26 00:50:56.46903+00');
INSERT INTO public.events VALUES ('evt_01m8anb24fp4mvr2gw9kat0s9q', 'ses_01m8anb0cjznvh0g9g92edjtj8', 'turn_01m8anb0drxk947rkh8jnz6zwe', 1, 4, 'user.elicitation_result', '{"elicitation_id":"elic_01m8anb1t9v2tn1hxgppwqgqcc","action":"accept","content":{"branch":"main"},"actor":null}', DEFAULT, '2026-11-26 00:50:56.784751+00');
INSERT INTO public.events VALUES ('evt_01m8anb26sh4gcgjtqakerr1pc', 'ses_01m8anb0cjznvh0g9g92edjtj8', 'turn_01m8anb0drxk947rkh8jnz6zwe', 1, 5, 'agent.tool_result', '{"tool_use_id":"toolu_1","name":"mcp__ops__deploy","is_error":false,"content":"{\"action\":\"accept\",\"content\":{\"branch\":\"main\"}}"}', DEFAULT, '2026-11-26 00:50:56.862337+00');
INSERT INTO public.events VALUES ('evt_01m8anb28d97dyraqvd6jw6gxm', 'ses_01m8anb0cjznvh0g9g92edjtj8', 'turn_01m8anb0drxk947rkh8jnz6zwe', 1, 6, 'agent.tool_use', '{"tool_use_id":"toolu_2","name":"mcp__ops__build","input":{},"evaluated_permission":"allow"}', DEFAULT, '2026-11-26 00:50:56.910815+00');
INSERT INTO public.events VALUES ('evt_01m8anb3fb4n4y49pz5hccenq1', 'ses_01m8anb0cjznvh0g9g92edjtj8', 'turn_01m8anb0drxk947rkh8jnz6zwe', 1, 7, 'agent.tool_result', '{"tool_use_id":"toolu_2","name":"mcp__ops__build","is_error":false,"content":"It works."}', DEFAULT, '2026-11-26 00:50:58.157369+00');
INSERT INTO public.events VALUES ('evt_01m8anb3p94qxd2ve41gdfrhv0', 'ses_01m8anb0cjznvh0g9g92edjtj8', 'turn_01m8anb0drxk947rkh8jnz6zwe', 1, 8, 'agent.message', '{"message_id":"msg_01m8anb3hvvbfk7ysvhd1v394h","content":"Deployed the branch main."}', DEFAULT, '2026-11-26 00:50:58.381008+00');
INSERT INTO public.events VALUES ('evt_01m8anb3p94qxd2ve41gdfrhv1', 'ses_01m8anb0cjznvh0g9g92edjtj8', 'turn_01m8anb0drxk947rkh8jnz6zwe', 1, 9, 'turn.completed', '{"stop_reason":"end_turn","usage":{"input_tokens":2409,"output_tokens":9},"usage_details":{"cache_read_input_tokens":1498,"cache_creation_input_tokens":911,"model_calls":3,"cost":{"amount" : "0.00400065", "currency" : "USD"}},"timing":{"queued_ms":564,"connect_ms":92,"first_token_ms":1021,"model_ms":260,"tools_ms":1561,"waiting_ms":316,"total_ms":3345}}', DEFAULT, '2026-11-26 00:50:58.381008+00');
INSERT INTO public.events VALUES ('evt_01m8anb3v2t3bvxbxbj2wf4v9k', 'ses_01m8anb3td1ten237wmqmgw0aj', 'turn_01m8anb3v2t3bvxbxbj2wf4v9j', 1, 1, 'user.message', '{"content":"Weather?","files":[],"skills":[]}', DEFAULT, '2026-11-26 00:50:58.536361+00');
INSERT INTO public.events VALUES ('evt_01m8anb3xafw4t9xm9fm5d81qt', 'ses_01m8anb3td1ten237wmqmgw0aj', 'turn_01m8anb3v2t3bvxbxbj2wf4v9j', 1, 2, 'agent.custom_tool_use', '{"tool_use_id":"toolu_3","name":"get_weather","input":{"city":"Oslo"}}', DEFAULT, '2026-11-26 00:50:58.60678+00');
INSERT INTO public.events VALUES ('evt_01m8anb4143rrs0gd5m10xf48m', 'ses_01m8anb3td1ten237wmqmgw0aj', 'turn_01m8anb3v2t3bvxbxbj2wf4v9j', 1, 3, 'agent.requires_action', '{"required_actions":[{"type":"custom_tool_result","tool_use_id":"toolu_3","name":"get_weather","input":{"city":"Oslo"},"expires_at":"2026-11-27T00:50:58.710631Z"}]}', DEFAULT, '2026-11-26 00:50:58.725633+00');
INSERT INTO public.files VALUES ('file_01m8anb03kf09wfq2zrjbxnq74', 'proj_01m8anayqpd6pp3z8038xdnjxf', 'hello.txt', 'text/plain', 5, 'UPLOAD', NULL, 'files/proj_01m8anayqpd6pp3z8038xdnjxf/01m8anazzp5wtfvmc00rkt8pep', '2026-11-26 00:50:54.71581+00', NULL);
INSERT INTO public.idempotency_records VALUES ('proj_01m8anayqpd6pp3z8038xdnjxf', '/v1/sessions', 'fixture-1', '\xa4eb9c519452a5c6565cc0b15ce1b7e6e5117d7cecc2767dd72f7a356978c330', '2026-11-26 00:50:54.838311+00', NULL, '10cbbca4-df51-48f9-9e95-d0894a35e46f', 201, '{"id":"ses_01m8anb0cjznvh0g9g92edjtj8","status":"IDLE","model_id":"scripted","thinking_enabled":true,"instruction":"Be brief.","mcp_servers":["mcp_01m8anaz5rttjrr3z5ndxzwfdm"],"metadata":{"customer":"c-1"},"preview":null,"tools":[{"type":"mcp_toolset","mcp_server_id":"mcp_01m8anaz5rttjrr3z5ndxzwfdm","elicitation":true}],"required_actions":[],"queue":{"length":0,"state":"open"},"fallback_model_ids":[],"budget":{"max_cost":{"amount":"5","currency":"USD"},"on_reached":"pause"},"cost":{"amount":"0","currency":"USD"},"continuable":false,"last_turn_id":null,"created_at":"2026-11-26T00:50:54.998453Z","updated_at":"2026-11-26T00:50:54.998453Z"}');
INSERT INTO public.installation VALUES ('1cc4415e-152e-4a00-a85a-dc971fb1f1be', true);
INSERT INTO public.leases VALUES ('turns default', '7@worker-1', '2026-11-26 00:50:59.939524+00', '2026-11-26 00:50:59.938321+00');
INSERT INTO public.mcp_oauth VALUES ('mcp_01m8anaz5rttjrr3z5ndxzwfdm', NULL, 'sealed', true, '{}', 'http://127.0.0.1:8080/v1/oauth/callback', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.mcp_servers VALUES ('mcp_01m8anaz5rttjrr3z5ndxzwfdm', 'proj_01m8anayqpd6pp3z8038xdnjxf', 'ops', 'http://127.0.0.1:44063/mcp', 'NONE', NULL, NULL, 1, NULL, '[{"name":"deploy","description":"","input_schema":{"type":"object","properties":{}}},{"name":"build","description":"","input_schema":{"type":"object","properties":{}},"task_support":"required"}]', DEFAULT, DEFAULT, false, NULL, '[]', DEFAULT, 'test-server', '2026-11-26 00:50:53.761344+00', '2026-11-26 00:50:55.710859+00', NULL, '2026-11-26 00:50:53.761344+00', '2026-11-26 00:50:53.761344+00', NULL);
INSERT INTO public.mcp_tasks VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 2, 0, 'mcp_01m8anaz5rttjrr3z5ndxzwfdm', '450b6fcce3ee866c761348aa3d467c38', '{"id":"c47fbfd5-6110-47ec-b996-eb3c6d8dba92","protocolVersion":"2025-11-25"}', 'working', NULL, 1000, 'working', NULL, NULL, 0, '2026-11-26 00:50:57.036155+00', '2026-11-26 00:50:58.15834+00', NULL);
INSERT INTO public.mcp_toolsets VALUES ('mcp_01m8anaz5rttjrr3z5ndxzwfdm', 'ef8854bfcf0ab7b6504587d0002ee2809536e1247d39423f21c21926fae7b1b6', '[{"name":"deploy","description":"","input_schema":{"type":"object","properties":{}}},{"name":"build","description":"","input_schema":{"type":"object","properties":{}},"task_support":"required"}]');
INSERT INTO public.migrations VALUES (1, 1800000000001, 'Initial1800000000001');
INSERT INTO public.model_attempts VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 1, 1, 1, 'msg_01m8anb1b8xsr94tcy3mcd2w5s', '7@worker-1', '\x0a2430316132313535352d356265362d373262612d623536632d316431363634393730633564121f7475726e5f30316d38616e62306472786b393437726b68386a6e7a367a77651a2430316132313535352d383165302d373265352d386234342d343037626132303364366663200b2801320132420963616c6c4d6f64656c4a08080110b880401801', NULL, '2026-11-26 00:50:55.991291+00', '2026-11-26 00:50:56.099201+00', 'scripted', '{"input_tokens":0,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":751}', 0.00283125, 'USD', NULL);
INSERT INTO public.model_attempts VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 2, 5, 1, 'msg_01m8anb284mb3gnk2vdzhkgy80', '7@worker-1', '\x0a2430316132313535352d356265362d373262612d623536632d316431363634393730633564121f7475726e5f30316d38616e62306472786b393437726b68386a6e7a367a77651a2430316132313535352d383165302d373265352d386234342d34303762613230336436666320252801320134420963616c6c4d6f64656c4a08080110f680401801', NULL, '2026-11-26 00:50:56.901386+00', '2026-11-26 00:50:56.910905+00', 'scripted', '{"input_tokens":0,"output_tokens":1,"cache_read_input_tokens":691,"cache_creation_input_tokens":116}', 0.0006573, 'USD', NULL);
INSERT INTO public.model_attempts VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 3, 7, 1, 'msg_01m8anb3hvvbfk7ysvhd1v394h', '7@worker-1', '\x0a2430316132313535352d356265362d373262612d623536632d316431363634393730633564121f7475726e5f30316d38616e62306472786b393437726b68386a6e7a367a77651a2430316132313535352d383165302d373265352d386234342d343037626132303364366663203c2801320137420963616c6c4d6f64656c4a08080110ac81401801', NULL, '2026-11-26 00:50:58.237776+00', '2026-11-26 00:50:58.381212+00', 'scripted', '{"input_tokens":0,"output_tokens":7,"cache_read_input_tokens":807,"cache_creation_input_tokens":44}', 0.0005121, 'USD', NULL);
INSERT INTO public.model_attempts VALUES ('turn_01m8anb3v2t3bvxbxbj2wf4v9j', 1, 1, 1, 'msg_01m8anb3wqxv82n5stxtwpzjfr', '7@worker-1', NULL, NULL, '2026-11-26 00:50:58.588931+00', '2026-11-26 00:50:58.607103+00', 'scripted', '{"input_tokens":0,"output_tokens":4,"cache_read_input_tokens":0,"cache_creation_input_tokens":693}', 0.00265875, 'USD', NULL);
INSERT INTO public.model_steps VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 1, 'msg_01m8anb1b8xsr94tcy3mcd2w5s', 'scripted', '[{"type":"tool_use","id":"toolu_1","name":"mcp__ops__deploy","input":{}}]', 'tool_use', '2026-11-26 00:50:56.098914+00');
INSERT INTO public.model_steps VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 2, 'msg_01m8anb284mb3gnk2vdzhkgy80', 'scripted', '[{"type":"tool_use","id":"toolu_2","name":"mcp__ops__build","input":{}}]', 'tool_use', '2026-11-26 00:50:56.910795+00');
INSERT INTO public.model_steps VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 3, 'msg_01m8anb3hvvbfk7ysvhd1v394h', 'scripted', '[{"type":"text","text":"Deployed the branch main."}]', 'end_turn', '2026-11-26 00:50:58.38099+00');
INSERT INTO public.model_steps VALUES ('turn_01m8anb3v2t3bvxbxbj2wf4v9j', 1, 'msg_01m8anb3wqxv82n5stxtwpzjfr', 'scripted', '[{"type":"tool_use","id":"toolu_3","name":"get_weather","input":{"city":"Oslo"}}]', 'tool_use', '2026-11-26 00:50:58.606757+00');
INSERT INTO public.open_turns VALUES ('turn_01m8anb3v2t3bvxbxbj2wf4v9j', 'ses_01m8anb3td1ten237wmqmgw0aj', 'proj_01m8anayqpd6pp3z8038xdnjxf', 'default', NULL, NULL);
INSERT INTO public.project_storage VALUES ('proj_01m8anayqpd6pp3z8038xdnjxf', 125);
INSERT INTO public.projects VALUES ('proj_01m8anayqpd6pp3z8038xdnjxf', 'demo', 100, NULL, '2026-11-26 00:50:53.305738+00');
INSERT INTO public.rate_limits VALUES ('proj_01m8anayqpd6pp3z8038xdnjxf:createSchedule', 1, 1795654314728);
INSERT INTO public.required_actions VALUES ('turn_01m8anb3v2t3bvxbxbj2wf4v9j', 1, 0, 'ses_01m8anb3td1ten237wmqmgw0aj', 'toolu_3', 'custom_tool_result', NULL, 'open', '2026-11-26 00:50:58.710631+00', '2026-11-27 00:50:58.710631+00', NULL, NULL, NULL);
INSERT INTO public.schedule_runs VALUES ('sched_01m8anb04r18npzv77fvxms77j', '2026-11-25 08:00:00+00', NULL, 'skipped', 'overlap', NULL, NULL, true);
INSERT INTO public.schedules VALUES ('sched_01m8anb04r18npzv77fvxms77j', 'proj_01m8anayqpd6pp3z8038xdnjxf', NULL, '0 8 * * *', NULL, 'UTC', '{"type":"new_session","session":{"model_id":"scripted","thinking_enabled":true,"instruction":null,"mcp_servers":[],"metadata":{},"tools":[],"fallback_model_ids":[],"budget":null}}', NULL, '{"content":"Report.","files":[],"skills":[]}', 'skip', NULL, 'active', NULL, '2026-11-26 08:00:00+00', 0, 1, 1, '2026-12-21 08:00:00+00', NULL, '2026-11-26 00:50:54.745974+00', '2026-11-26 00:50:54.745974+00', NULL);
INSERT INTO public.session_states VALUES ('ses_01m8anb0cjznvh0g9g92edjtj8', 'proj_01m8anayqpd6pp3z8038xdnjxf', 'completed', '2026-11-26 00:50:54.998453+00');
INSERT INTO public.session_states VALUES ('ses_01m8anb3td1ten237wmqmgw0aj', 'proj_01m8anayqpd6pp3z8038xdnjxf', 'idle', '2026-11-26 00:50:58.510575+00');
INSERT INTO public.sessions VALUES ('ses_01m8anb0cjznvh0g9g92edjtj8', 'proj_01m8anayqpd6pp3z8038xdnjxf', 'scripted', true, 'Be brief.', '{mcp_01m8anaz5rttjrr3z5ndxzwfdm}', '{"customer":"c-1"}', '[{"type":"mcp_toolset","mcp_server_id":"mcp_01m8anaz5rttjrr3z5ndxzwfdm","elicitation":true}]', '[]', 'USD', '{}', '{"max_cost":{"amount":"5","currency":"USD"},"on_reached":"pause"}', DEFAULT, 1, 'turn_01m8anb0drxk947rkh8jnz6zwe', 'Deploy it, please.', DEFAULT, '2026-11-26 00:50:54.998453+00', '2026-11-26 00:50:54.998453+00', NULL);
INSERT INTO public.sessions VALUES ('ses_01m8anb3td1ten237wmqmgw0aj', 'proj_01m8anayqpd6pp3z8038xdnjxf', 'scripted', true, NULL, '{}', '{}', '[{"type":"custom","name":"get_weather","description":"Does get_weather.","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}]', '[{"type":"custom","name":"get_weather","description":"Does get_weather.","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}]', 'USD', '{}', NULL, DEFAULT, 1, 'turn_01m8anb3v2t3bvxbxbj2wf4v9j', 'Weather?', DEFAULT, '2026-11-26 00:50:58.510575+00', '2026-11-26 00:50:58.510575+00', NULL);
INSERT INTO public.skills VALUES ('skill_01m8an8gqrh1p305gvwxxwme5t', 'proj_01m8anayqpd6pp3z8038xdnjxf', 'release-notes', 'Writes release notes.', 120, 'skills/fixture', '2026-11-26 00:50:58.953746+00', NULL);
INSERT INTO public.tool_calls VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 1, 0, 'toolu_1', 'mcp__ops__deploy', '{}', 'done', '[{"type":"text","text":"{\"action\":\"accept\",\"content\":{\"branch\":\"main\"}}"}]', false, NULL, '7@worker-1', '\x0a2430316132313535352d356265362d373262612d623536632d316431363634393730633564121f7475726e5f30316d38616e62306472786b393437726b68386a6e7a367a77651a2430316132313535352d383165302d373265352d386234342d34303762613230336436666320112801320133420863616c6c546f6f6c4a08080110c780401801', '2026-11-26 00:50:56.17909+00', '2026-11-26 00:50:56.862305+00');
INSERT INTO public.tool_calls VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 2, 0, 'toolu_2', 'mcp__ops__build', '{}', 'done', '[{"type":"text","text":"It works."}]', false, NULL, '7@worker-1', '\x0a2430316132313535352d356265362d373262612d623536632d316431363634393730633564121f7475726e5f30316d38616e62306472786b393437726b68386a6e7a367a77651a2430316132313535352d383165302d373265352d386234342d343037626132303364366663202b2801320135420863616c6c546f6f6c4a080801108581401801', '2026-11-26 00:50:56.963455+00', '2026-11-26 00:50:58.157347+00');
INSERT INTO public.tool_calls VALUES ('turn_01m8anb3v2t3bvxbxbj2wf4v9j', 1, 0, 'toolu_3', 'get_weather', '{"city":"Oslo"}', 'pending', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.turn_servers VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 'mcp_01m8anaz5rttjrr3z5ndxzwfdm', 1, 'ops', 'ef8854bfcf0ab7b6504587d0002ee2809536e1247d39423f21c21926fae7b1b6', NULL, true);
INSERT INTO public.turn_usage VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 'scripted', 'proj_01m8anayqpd6pp3z8038xdnjxf', 'ses_01m8anb0cjznvh0g9g92edjtj8', '2026-11-26 00:50:58.381008+00', '{"customer":"c-1"}', 3, 2409, 9, 1498, 911, 0.00400065, 'USD', false);
INSERT INTO public.turns VALUES ('turn_01m8anb3v2t3bvxbxbj2wf4v9j', 'ses_01m8anb3td1ten237wmqmgw0aj', 'proj_01m8anayqpd6pp3z8038xdnjxf', 1, 'running', 3, NULL, NULL, NULL, NULL, NULL, NULL, false, true, NULL, '2026-11-26 00:50:58.536361+00', '2026-11-26 00:50:58.588944+00', NULL, '2026-11-26 00:50:58.588944+00', NULL, '2026-11-26 00:50:58.725633+00', NULL, NULL, '2026-11-26 00:50:58.600841+00', 0, 4, 0, 693, 1, 0.00265875, 'USD', false, 0, false, '00:00:00.017836', NULL, NULL, NULL, 0, NULL, '2026-11-26 00:50:58.725633+00', NULL, NULL, 0);
INSERT INTO public.turns VALUES ('turn_01m8anb0drxk947rkh8jnz6zwe', 'ses_01m8anb0cjznvh0g9g92edjtj8', 'proj_01m8anayqpd6pp3z8038xdnjxf', 1, 'completed', 9, NULL, NULL, NULL, NULL, NULL, NULL, false, false, 'end_turn', '2026-11-26 00:50:55.036005+00', '2026-11-26 00:50:55.599824+00', '2026-11-26 00:50:58.381008+00', '2026-11-26 00:50:58.381008+00', NULL, '2026-11-26 00:50:58.381008+00', '2026-11-26 00:50:55.727087+00', 92, '2026-11-26 00:50:56.057218+00', 0, 9, 1498, 911, 3, 0.00400065, 'USD', false, 0, false, '00:00:00.260266', NULL, '00:00:01.561381', NULL, 0, '00:00:00.315721', NULL, '00:00:01.121253', NULL, 0);
INSERT INTO public.waiting_messages OVERRIDING SYSTEM VALUE VALUES ('evt_01m8anb4403rnw3ws979qscwrb', 'ses_01m8anb3td1ten237wmqmgw0aj', 'turn_01m8anb4403rnw3ws979qscwrc', 0, 1, '{"content":"And tomorrow?","files":[],"skills":[]}', NULL, '2026-11-26 00:50:58.822025+00');
INSERT INTO public.webhook_deliveries VALUES ('dlv_01m8anb3p938267af445c5942e', 'whk_01m8anazq8991f79wrr5c3h47a', 'proj_01m8anayqpd6pp3z8038xdnjxf', 'turn.completed', 'evt_01m8anb3p94qxd2ve41gdfrhv1', 'ses_01m8anb0cjznvh0g9g92edjtj8', 'turn_01m8anb0drxk947rkh8jnz6zwe', '{"customer":"c-1"}', 'delivered', '[{"status":204,"error":null,"at":"2026-11-26T00:50:58.880804Z","duration_ms":20}]', 1, 0, 0, NULL, '2026-11-26 00:51:58.576381+00', '2026-11-26 00:50:58.381008+00');
INSERT INTO public.webhooks VALUES ('whk_01m8anazq8991f79wrr5c3h47a', 'proj_01m8anayqpd6pp3z8038xdnjxf', 'http://127.0.0.1:45819/hook', '{turn.completed}', NULL, true, NULL, 'v1.86087f0642d4.6TzdEjou9RilFsNEHFlwTwEQO20Xk2jQz8Vw-48XVUskHLLmAG_CJr7ctjZXoTEipbItQ9afjafrymFedkvSMUyhveyj5ZZAKrQk_dZ5', NULL, NULL, NULL, '2026-11-26 00:50:54.313787+00', '2026-11-26 00:50:54.313787+00', NULL);
INSERT INTO public.workers VALUES ('7@worker-1', 'default', 'turns', '2026-11-26 00:51:00+00', true, '2026-11-26 00:51:00+00');
SELECT pg_catalog.setval('public.migrations_id_seq', 1, true);
SELECT pg_catalog.setval('public.waiting_messages_arrival_seq', 1, true);
ALTER TABLE ONLY public.migrations
    ADD CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY (id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_hash UNIQUE (key_hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.compactions
    ADD CONSTRAINT compactions_pkey PRIMARY KEY (session_id, turn_number);
ALTER TABLE ONLY public.elicitations
    ADD CONSTRAINT elicitations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (session_id, turn_number, "position");
ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.idempotency_records
    ADD CONSTRAINT idempotency_records_pkey PRIMARY KEY (project_id, path, key);
ALTER TABLE ONLY public.installation
    ADD CONSTRAINT installation_is_only_key UNIQUE (is_only);
ALTER TABLE ONLY public.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.mcp_oauth
    ADD CONSTRAINT mcp_oauth_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mcp_oauth
    ADD CONSTRAINT mcp_oauth_state UNIQUE (state_hash);
ALTER TABLE ONLY public.mcp_servers
    ADD CONSTRAINT mcp_servers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mcp_tasks
    ADD CONSTRAINT mcp_tasks_pkey PRIMARY KEY (turn_id, step, index);
ALTER TABLE ONLY public.mcp_toolsets
    ADD CONSTRAINT mcp_toolsets_pkey PRIMARY KEY (server_id, hash);
ALTER TABLE ONLY public.model_attempts
    ADD CONSTRAINT model_attempts_pkey PRIMARY KEY (turn_id, "position", attempt);
ALTER TABLE ONLY public.model_steps
    ADD CONSTRAINT model_steps_pkey PRIMARY KEY (turn_id, step);
ALTER TABLE ONLY public.open_turns
    ADD CONSTRAINT open_turns_pkey PRIMARY KEY (turn_id);
ALTER TABLE ONLY public.open_turns
    ADD CONSTRAINT open_turns_session UNIQUE (session_id);
ALTER TABLE ONLY public.project_storage
    ADD CONSTRAINT project_storage_pkey PRIMARY KEY (project_id);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_name UNIQUE (name);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.rate_limits
    ADD CONSTRAINT rate_limits_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.required_actions
    ADD CONSTRAINT required_actions_pkey PRIMARY KEY (turn_id, step, index);
ALTER TABLE ONLY public.schedule_runs
    ADD CONSTRAINT schedule_runs_pkey PRIMARY KEY (schedule_id, scheduled_at);
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.session_states
    ADD CONSTRAINT session_states_pkey PRIMARY KEY (session_id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.skills
    ADD CONSTRAINT skills_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tool_calls
    ADD CONSTRAINT tool_calls_pkey PRIMARY KEY (turn_id, step, index);
ALTER TABLE ONLY public.turn_servers
    ADD CONSTRAINT turn_servers_pkey PRIMARY KEY (turn_id, server_id);
ALTER TABLE ONLY public.turn_usage
    ADD CONSTRAINT turn_usage_pkey PRIMARY KEY (turn_id, model_id);
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_number UNIQUE (session_id, number);
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.waiting_messages
    ADD CONSTRAINT waiting_messages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);
CREATE INDEX deltas_place ON ONLY public.deltas USING btree (turn_id, "position", attempt, last);
CREATE INDEX deltas_202611260050_turn_id_position_attempt_last_idx ON public.deltas_202611260050 USING btree (turn_id, "position", attempt, last);
CREATE INDEX elicitations_open ON public.elicitations USING btree (asked_at) WHERE (state = 'open'::text);
CREATE INDEX elicitations_turn ON public.elicitations USING btree (turn_id, step, index);
CREATE UNIQUE INDEX events_id ON public.events USING btree (id);
CREATE UNIQUE INDEX events_one_end ON public.events USING btree (turn_id) WHERE (type = ANY (ARRAY['turn.completed'::text, 'turn.cancelled'::text, 'turn.failed'::text]));
CREATE INDEX events_types ON public.events USING btree (session_id, type, turn_number, "position");
CREATE INDEX files_deleted ON public.files USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX files_list ON public.files USING btree (project_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX files_session ON public.files USING btree (session_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX files_storage_key ON public.files USING btree (storage_key);
CREATE INDEX idempotency_records_age ON public.idempotency_records USING btree (created_at);
CREATE INDEX mcp_servers_list ON public.mcp_servers USING btree (project_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX mcp_servers_name ON public.mcp_servers USING btree (project_id, name) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX mcp_servers_url ON public.mcp_servers USING btree (project_id, url) WHERE (deleted_at IS NULL);
CREATE INDEX open_turns_project ON public.open_turns USING btree (project_id);
CREATE INDEX required_actions_open ON public.required_actions USING btree (asked_at) WHERE (state = 'open'::text);
CREATE INDEX required_actions_use ON public.required_actions USING btree (session_id, tool_use_id);
CREATE INDEX schedule_runs_age ON public.schedule_runs USING btree (scheduled_at);
CREATE INDEX schedule_runs_unsettled ON public.schedule_runs USING btree (schedule_id) WHERE (NOT is_settled);
CREATE INDEX schedules_deleted ON public.schedules USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX schedules_due ON public.schedules USING btree (next_run_at) WHERE (state = 'active'::text);
CREATE INDEX schedules_list ON public.schedules USING btree (project_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX schedules_refill ON public.schedules USING btree (refill_at) WHERE (refill_at IS NOT NULL);
CREATE INDEX schedules_session ON public.schedules USING btree (session_id) WHERE ((session_id IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX schedules_unsynced ON public.schedules USING btree (updated_at) WHERE (version <> synced_version);
CREATE INDEX session_states_list ON public.session_states USING btree (project_id, state, created_at DESC, session_id DESC);
CREATE INDEX sessions_deleted ON public.sessions USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX sessions_list ON public.sessions USING btree (project_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX sessions_metadata ON public.sessions USING gin (metadata_terms) WHERE (deleted_at IS NULL);
CREATE INDEX sessions_retention ON public.sessions USING btree (metadata_updated_at) WHERE (deleted_at IS NULL);
CREATE INDEX skills_list ON public.skills USING btree (project_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX skills_name ON public.skills USING btree (project_id, name) WHERE (deleted_at IS NULL);
CREATE INDEX turn_usage_time ON public.turn_usage USING btree (project_id, ended_at);
CREATE UNIQUE INDEX waiting_messages_order ON public.waiting_messages USING btree (session_id, arrival);
CREATE INDEX webhook_deliveries_age ON public.webhook_deliveries USING btree (created_at);
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (next_attempt_at) WHERE (state = 'pending'::text);
CREATE INDEX webhook_deliveries_list ON public.webhook_deliveries USING btree (webhook_id, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_new ON public.webhook_deliveries USING btree (project_id, wake_at) WHERE ((state = 'pending'::text) AND (attempt_count = 0));
CREATE INDEX webhook_deliveries_pending ON public.webhook_deliveries USING btree (created_at) WHERE (state = 'pending'::text);
CREATE INDEX webhook_deliveries_retried ON public.webhook_deliveries USING btree (wake_at) WHERE ((state = 'pending'::text) AND (attempt_count > 0));
CREATE INDEX webhook_deliveries_state ON public.webhook_deliveries USING btree (webhook_id, state, created_at DESC, id DESC);
CREATE INDEX webhooks_list ON public.webhooks USING btree (project_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
ALTER INDEX public.deltas_place ATTACH PARTITION public.deltas_202611260050_turn_id_position_attempt_last_idx;
CREATE TRIGGER files_storage AFTER INSERT OR DELETE OR UPDATE OF deleted_at, size_bytes ON public.files FOR EACH ROW EXECUTE FUNCTION public.count_storage();
CREATE TRIGGER sessions_schedules AFTER UPDATE OF deleted_at ON public.sessions FOR EACH ROW WHEN (((old.deleted_at IS NULL) AND (new.deleted_at IS NOT NULL))) EXECUTE FUNCTION public.pause_schedules();
CREATE TRIGGER skills_storage AFTER INSERT OR DELETE OR UPDATE OF deleted_at, size_bytes ON public.skills FOR EACH ROW EXECUTE FUNCTION public.count_storage();
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.mcp_oauth
    ADD CONSTRAINT mcp_oauth_id_fkey FOREIGN KEY (id) REFERENCES public.mcp_servers(id);
ALTER TABLE ONLY public.mcp_servers
    ADD CONSTRAINT mcp_servers_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.mcp_toolsets
    ADD CONSTRAINT mcp_toolsets_server_id_fkey FOREIGN KEY (server_id) REFERENCES public.mcp_servers(id);
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.skills
    ADD CONSTRAINT skills_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);
