-- Agents that call agents: sessions whose turns work on calls of the turns of another session.

-- The session whose agent has called the agent of this one; null for the sessions of clients.
ALTER TABLE sessions ADD COLUMN parent_session_id text COLLATE "C";
ALTER TABLE session_states ADD COLUMN is_child boolean NOT NULL DEFAULT false;

ALTER TABLE turns
  -- The turn that has a call on which this one works; null for others.
  ADD COLUMN parent_turn_id text COLLATE "C",
  -- It has begun turns by calls.
  ADD COLUMN has_children boolean NOT NULL DEFAULT false,
  -- What those cost, written at its end, and whether a call of them has no price in the turn's currency.
  ADD COLUMN delegated_cost numeric NOT NULL DEFAULT 0,
  ADD COLUMN is_delegated_unpriced boolean NOT NULL DEFAULT false;
ALTER TABLE open_turns ADD COLUMN parent_turn_id text COLLATE "C", ADD COLUMN parent_session_id text COLLATE "C";

-- How many agents the tools name: such turns find out at their begin which of them there are.
ALTER TABLE configurations ADD COLUMN agents integer NOT NULL DEFAULT 0;
CREATE FUNCTION count_agents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.agents := (SELECT count(*) FROM json_array_elements(NEW.tools) AS entry WHERE entry->>'type' = 'agent');
  RETURN NEW;
END $$;
CREATE TRIGGER configurations_agents BEFORE INSERT ON configurations
  FOR EACH ROW EXECUTE FUNCTION count_agents();

-- The agents that a turn may call, as they were when it began: a change of one takes effect from the next turn.
CREATE TABLE turn_agents (
  turn_id text COLLATE "C" NOT NULL,
  index integer NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  -- The version that calls use; null: the one that is live at the time of the call.
  version integer,
  name text NOT NULL,
  description text NOT NULL,
  -- That of the entry; null without one.
  permission_policy json,
  PRIMARY KEY (turn_id, index)
);

-- The calls that have begun a turn of another agent. Written under the lock of the calling turn.
CREATE TABLE delegations (
  turn_id text COLLATE "C" NOT NULL,
  step integer NOT NULL,
  index integer NOT NULL,
  agent_id text COLLATE "C" NOT NULL,
  agent_version integer NOT NULL,
  child_session_id text COLLATE "C" NOT NULL,
  child_turn_id text COLLATE "C" NOT NULL CONSTRAINT delegations_child UNIQUE,
  created_at timestamptz NOT NULL,
  -- The position in the child turn up to which the calling turn has its deliveries.
  shown_position integer NOT NULL DEFAULT 0,
  -- The open waits of the child turn that the last agent.requires_action of the calling turn named, and the time of that event.
  shown_waits text[] COLLATE "C" NOT NULL DEFAULT '{}',
  shown_at timestamptz,
  -- When the result of the call was stored, or the calling turn ended.
  done_at timestamptz,
  PRIMARY KEY (turn_id, step, index)
);
CREATE INDEX delegations_open ON delegations (turn_id) WHERE done_at IS NULL;
ALTER TABLE delegations SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE turn_agents SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05);

-- As before, but turns that work on a call need no place: the calling turn has one.
CREATE OR REPLACE FUNCTION admit_turn(the_project text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  most integer;
  taken bigint;
  connections integer := current_setting('max_connections')::integer;
BEGIN
  SELECT max_running_turns INTO most FROM projects WHERE id = the_project;
  -- A limit within the number of connections needs the lock whatever is taken.
  IF most > connections THEN
    SELECT count(*) INTO taken FROM open_turns WHERE project_id = the_project AND parent_turn_id IS NULL;
    IF taken + connections <= most THEN
      RETURN;
    END IF;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('new turn ' || the_project, 0));
  SELECT count(*) INTO taken FROM open_turns WHERE project_id = the_project AND parent_turn_id IS NULL;
  IF taken > most THEN
    RAISE EXCEPTION 'the project has no room for another turn' USING ERRCODE = 'AS429', DETAIL = most::text;
  END IF;
END $$;

-- As before, with what the turns have begun by calls of agents.
CREATE OR REPLACE FUNCTION leave_family() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  the_family text;
BEGIN
  SELECT family_id INTO the_family FROM family_sessions WHERE session_id = NEW.id;
  IF FOUND THEN
    UPDATE session_families SET spent = spent + coalesce((
      SELECT cost_before + cost + delegated_cost FROM turns WHERE id = NEW.last_turn_id), 0) WHERE id = the_family;
    UPDATE family_sessions SET is_deleted = true WHERE session_id = NEW.id;
    DELETE FROM session_families WHERE id = the_family
      AND NOT EXISTS (SELECT FROM family_sessions WHERE family_id = the_family AND NOT is_deleted);
  END IF;
  RETURN NULL;
END $$;
-- The cost of the calls of an open turn, in a currency; with what the one under way may cost at most, unless its worker has died and the
-- turn waits to make it again.
CREATE FUNCTION calls_cost(the_turn text, the_call integer, the_currency text, with_reserves boolean) RETURNS numeric
LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(CASE WHEN with_reserves AND a.ended_at IS NULL AND a.call = the_call AND NOT EXISTS (
      SELECT FROM waits w WHERE w.turn_id = the_turn AND w.kind IN ('reserve', 'budget') AND w.state <> 'closed')
    THEN greatest(a.cost, a.reserved) ELSE a.cost END), 0)
  FROM model_calls a WHERE a.turn_id = the_turn AND a.currency = the_currency
$$;
-- The reserves of the turn `own_turn` and of those that it has begun are left out.
CREATE OR REPLACE FUNCTION family_spent(the_family text, own_turn text, with_reserves boolean) RETURNS numeric
LANGUAGE sql STABLE AS $$
  SELECT f.spent + coalesce((
    SELECT sum(t.cost_before + CASE WHEN t.ended_at IS NOT NULL THEN t.cost + t.delegated_cost ELSE
      calls_cost(t.id, t.model_calls, t.currency, with_reserves AND t.id <> own_turn)
      + coalesce((
        SELECT sum(CASE WHEN child.ended_at IS NOT NULL THEN child.cost
          ELSE calls_cost(child.id, child.model_calls, t.currency, with_reserves AND t.id <> own_turn) END)
        FROM delegations d JOIN turns child ON child.id = d.child_turn_id
        WHERE d.turn_id = t.id AND child.currency = t.currency), 0) END)
    FROM family_sessions m JOIN sessions s ON s.id = m.session_id JOIN turns t ON t.id = s.last_turn_id
    WHERE m.family_id = the_family AND NOT m.is_deleted), 0)
  FROM session_families f WHERE f.id = the_family
$$;
