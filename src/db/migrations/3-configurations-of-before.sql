-- no transaction
-- The configurations of the sessions and turns that were there before 2-configurations, open turns included, a thousand at a time:
-- the service runs meanwhile.
DO $$
DECLARE
  last text COLLATE "C" := '';
  ids text[] COLLATE "C";
BEGIN
  LOOP
    SELECT array_agg(id), max(id) INTO ids, last FROM (
      SELECT id FROM sessions WHERE id > last ORDER BY id LIMIT 1000) AS next;
    EXIT WHEN ids IS NULL;
    INSERT INTO configurations (id, model_id, thinking_enabled, instruction, mcp_servers, tools, model_tools, fallback_model_ids)
    SELECT id, model_id, thinking_enabled, instruction, mcp_servers, tools, model_tools, fallback_model_ids FROM sessions
    WHERE id = ANY(ids) AND configuration_id IS NULL ON CONFLICT DO NOTHING;
    UPDATE sessions SET configuration_id = id WHERE id = ANY(ids) AND configuration_id IS NULL;
    COMMIT;
  END LOOP;
END $$;
DO $$
DECLARE
  last text COLLATE "C" := '';
  ids text[] COLLATE "C";
BEGIN
  LOOP
    SELECT array_agg(id), max(id) INTO ids, last FROM (
      SELECT id FROM turns WHERE id > last ORDER BY id LIMIT 1000) AS next;
    EXIT WHEN ids IS NULL;
    UPDATE turns SET configuration_id = session_id WHERE id = ANY(ids) AND configuration_id IS NULL;
    COMMIT;
  END LOOP;
END $$;
