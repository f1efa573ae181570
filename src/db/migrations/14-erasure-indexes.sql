-- no transaction
-- The deleted sessions of a person, whose rows an erasure removes, children first: all others that were deleted wait for the purge beside them.
DROP INDEX CONCURRENTLY IF EXISTS sessions_erased;
CREATE INDEX CONCURRENTLY sessions_erased ON sessions (project_id, end_user, (parent_session_id IS NULL))
  WHERE deleted_at IS NOT NULL AND end_user IS NOT NULL;
-- The files of a session that are deleted, and whose objects and rows are still there.
DROP INDEX CONCURRENTLY IF EXISTS files_session_deleted;
CREATE INDEX CONCURRENTLY files_session_deleted ON files (session_id) WHERE deleted_at IS NOT NULL;
