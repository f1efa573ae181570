-- no transaction
DROP INDEX CONCURRENTLY IF EXISTS sessions_agent;
CREATE INDEX CONCURRENTLY sessions_agent ON sessions (agent_id, created_at DESC, id DESC)
  WHERE agent_id IS NOT NULL AND deleted_at IS NULL;
