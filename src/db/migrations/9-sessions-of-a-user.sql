-- no transaction
DROP INDEX CONCURRENTLY IF EXISTS sessions_user;
-- For lists of a person's sessions: most sessions have another one, or none.
CREATE INDEX CONCURRENTLY sessions_user ON sessions (project_id, end_user, created_at DESC, id DESC)
  WHERE deleted_at IS NULL AND end_user IS NOT NULL;
