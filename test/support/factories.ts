import type { DataSource } from 'typeorm';

/** Makes a turn in this state the session's latest, without any workflow. Returns its id. */
export async function insertTurn(db: DataSource, sessionId: string, state: string): Promise<string> {
  const id = `turn_${state}_${sessionId}`;
  await db.query(
    `INSERT INTO turns (id, session_id, project_id, number, state, content, files, skills)
     SELECT $1, id, project_id, turn_count + 1, $2, 'hello', '[]', '[]' FROM sessions WHERE id = $3`,
    [id, state, sessionId],
  );
  await db.query('UPDATE sessions SET last_turn_id = $1, turn_count = turn_count + 1 WHERE id = $2', [id, sessionId]);
  return id;
}

/** Registers an MCP server of this id, which nobody probed. */
export async function insertMcpServer(db: DataSource, id: string, project = 'demo'): Promise<void> {
  await db.query(
    `INSERT INTO mcp_servers (id, project_id, name, url, auth_type, tools)
     SELECT $1::text, id, replace($1::text, '_', '-'), 'https://' || $1, 'NONE', '[]' FROM projects WHERE name = $2`,
    [id, project],
  );
}
