-- Keys that keys make, who may approve what, and the audit log.

ALTER TABLE api_keys
  -- The key that made it over HTTP; null: the command did.
  ADD COLUMN created_by text COLLATE "C" REFERENCES api_keys,
  -- The groups in which it approves calls of tools; `*`: every group.
  ADD COLUMN approver_groups text[] NOT NULL DEFAULT '{}';

ALTER TABLE mcp_servers
  -- The tools whose calls a person must allow in every session: [{name?, approvers?}].
  ADD COLUMN required_approvals json NOT NULL DEFAULT '[]';
ALTER TABLE turn_servers
  -- As the server had them when the turn began; null: none.
  ADD COLUMN required_approvals json;

ALTER TABLE mcp_oauth
  -- The key, the actor and the source of the request that began the authorization under way, for the entry in the audit log.
  ADD COLUMN begun_by json;

-- The key and the actor of the request that began a turn; null for schedules and copies. No reference: see session_id.
ALTER TABLE turns ADD COLUMN sent_by_key text COLLATE "C", ADD COLUMN sent_by_actor text;
ALTER TABLE waiting_messages ADD COLUMN sent_by_key text COLLATE "C", ADD COLUMN sent_by_actor text;

-- Who changed what. Without references: entries outlive what they are about.
CREATE TABLE audit_log (
  id text COLLATE "C" NOT NULL,
  project_id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  -- The operationId, or the name of a command.
  action text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL CHECK (outcome IN ('ok', 'refused')),
  source text NOT NULL CHECK (source IN ('key', 'token', 'command')),
  -- The key, and its name at that time; null for a command.
  key_id text COLLATE "C",
  key_name text,
  -- The person for whom the back end acts.
  actor text COLLATE "C",
  resource_type text,
  resource_id text COLLATE "C",
  session_id text COLLATE "C",
  details json NOT NULL,
  request_id text COLLATE "C",
  PRIMARY KEY (created_at, id),
  CHECK ((resource_type IS NULL) = (resource_id IS NULL))
) PARTITION BY RANGE (created_at);
CREATE INDEX audit_log_list ON audit_log (project_id, created_at, id);
CREATE INDEX audit_log_action ON audit_log (project_id, action, created_at, id);
CREATE INDEX audit_log_key ON audit_log (project_id, key_id, created_at, id);
CREATE INDEX audit_log_actor ON audit_log (project_id, actor, created_at, id);
CREATE INDEX audit_log_resource ON audit_log (project_id, resource_id, created_at, id);
CREATE INDEX audit_log_outcome ON audit_log (project_id, outcome, created_at, id);

-- A partition is dropped when its entries are old. Nothing else takes one away.
CREATE FUNCTION keep_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an entry of the audit log cannot be changed or deleted';
END $$;
CREATE TRIGGER audit_log_kept BEFORE UPDATE OR DELETE ON audit_log
  FOR EACH ROW EXECUTE FUNCTION keep_audit_entry();

-- Creates the partition for a time, a month of UTC, unless it is there. ATTACH takes a weaker lock than PARTITION OF, so others
-- write and read meanwhile.
CREATE FUNCTION ensure_audit_partition(at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  month timestamp := date_trunc('month', at AT TIME ZONE 'UTC');
  partition text := 'audit_log_' || to_char(month, 'YYYYMM');
BEGIN
  IF to_regclass(partition) IS NOT NULL THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('audit_log', 0));
  -- Another transaction may have created it meanwhile: the cache behind to_regclass does not know yet.
  IF EXISTS (SELECT FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'audit_log'::regclass AND relname = partition) THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE audit_log INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
    WITH (autovacuum_vacuum_scale_factor = 0.02)', partition);
  EXECUTE format('ALTER TABLE audit_log ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', partition,
    month AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
END $$;

-- Writes an entry with the time of now and the name of the key. One statement, so that it travels with the commit of the change.
CREATE FUNCTION write_audit_entry(
  the_id text, the_project text, the_action text, the_outcome text, the_source text, the_key text, the_actor text,
  the_resource_type text, the_resource text, the_session text, the_details json, the_request text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  now timestamptz := clock_timestamp();
BEGIN
  PERFORM ensure_audit_partition(now);
  INSERT INTO audit_log (id, project_id, created_at, action, outcome, source, key_id, key_name, actor, resource_type, resource_id,
    session_id, details, request_id)
  VALUES (the_id, the_project, now, the_action, the_outcome, the_source, the_key, (SELECT name FROM api_keys WHERE id = the_key),
    the_actor, the_resource_type, the_resource, the_session, the_details, the_request);
END $$;

-- How many refusals of a key are in the log since a time: at most 100 in an hour.
CREATE TABLE audit_refusals (
  key_id text COLLATE "C" PRIMARY KEY,
  since timestamptz NOT NULL,
  entries integer NOT NULL
);
