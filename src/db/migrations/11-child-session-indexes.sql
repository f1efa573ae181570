-- no transaction
-- Lists leave out child sessions, of which there may be many beside a few others.
DROP INDEX CONCURRENTLY IF EXISTS sessions_own;
CREATE INDEX CONCURRENTLY sessions_own ON sessions (project_id, created_at DESC, id DESC)
  WHERE deleted_at IS NULL AND parent_session_id IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS sessions_list;
-- The children of a session: for its list of them, and its deletion.
DROP INDEX CONCURRENTLY IF EXISTS sessions_children;
CREATE INDEX CONCURRENTLY sessions_children ON sessions (parent_session_id, created_at DESC, id DESC)
  WHERE parent_session_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS open_turns_children;
CREATE INDEX CONCURRENTLY open_turns_children ON open_turns (parent_turn_id) WHERE parent_turn_id IS NOT NULL;
-- The calls that wait for a turn of another agent, or for a part of the budget.
DROP INDEX CONCURRENTLY IF EXISTS waits_of_children;
CREATE INDEX CONCURRENTLY waits_of_children ON waits (turn_id)
  WHERE kind IN ('child_turn', 'reserve') AND state <> 'closed';
