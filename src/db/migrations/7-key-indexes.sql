-- no transaction
DROP INDEX CONCURRENTLY IF EXISTS api_keys_list;
CREATE INDEX CONCURRENTLY api_keys_list ON api_keys (project_id, created_at, id);
DROP INDEX CONCURRENTLY IF EXISTS api_keys_created_by;
CREATE INDEX CONCURRENTLY api_keys_created_by ON api_keys (created_by) WHERE created_by IS NOT NULL;
