-- Erasing a person (src/erasures).

CREATE TABLE erasures (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects,
  -- Forgotten 30 days after the end.
  end_user text COLLATE "C",
  -- Also the files that messages attached.
  attached_files boolean NOT NULL,
  -- What is gone so far.
  sessions integer NOT NULL DEFAULT 0,
  credentials integer NOT NULL DEFAULT 0,
  memories integer NOT NULL DEFAULT 0,
  files integer NOT NULL DEFAULT 0,
  -- Sessions that were made until then are erased.
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  -- The last sign of life of its workflow.
  touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The rows of usage that ended until then have forgotten the user. Null: usage has nothing of the user (any more).
  usage_until timestamptz,
  CHECK (finished_at IS NOT NULL OR end_user IS NOT NULL)
);
CREATE INDEX erasures_list ON erasures (project_id, created_at DESC, id DESC);
-- One for each user. Each message of a session with a user looks here.
CREATE UNIQUE INDEX erasures_running ON erasures (project_id, end_user) WHERE finished_at IS NULL;
CREATE INDEX erasures_named ON erasures (finished_at) WHERE finished_at IS NOT NULL AND end_user IS NOT NULL;

-- The sessions whose rows are gone, until usage has forgotten them.
CREATE TABLE erased_sessions (
  erasure_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (erasure_id, session_id)
);

-- The files that go with these sessions, until they are gone.
CREATE TABLE erased_files (
  erasure_id text COLLATE "C" NOT NULL,
  file_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (erasure_id, file_id)
);

DO $$
DECLARE
  large text;
BEGIN
  FOREACH large IN ARRAY ARRAY['erasures', 'erased_sessions', 'erased_files'] LOOP
    EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
      autovacuum_vacuum_insert_scale_factor = 0.05)', large);
  END LOOP;
END $$;
