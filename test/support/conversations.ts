import type { Database } from '../../src/db/db.js';
import { newId } from '../../src/platform/ids.js';
import type { TurnState } from '../../src/db/turn-states.js';
import type { AssistantBlock, ResultBlock } from '../../src/models/content.js';

/** Turns as rows, for states that a running service reaches only by accident. */
export interface TurnSeed {
  state: TurnState;
  content?: string;
  files?: { id: string; filename: string; mime_type: string; size_bytes: number }[];
  skills?: { id: string; name: string; description: string }[];
  steps?: StepSeed[];
  cutOff?: string;
}

export interface StepSeed {
  content: AssistantBlock[];
  stopReason?: string;
  /** That of the session when absent. */
  modelId?: string;
  /** One for each tool use; null: it has no result. */
  calls?: ({ content: ResultBlock[]; isError?: boolean } | null)[];
}

/** Writes a session with these turns; returns the id of the session and of its last turn. */
export async function seedSession(
  db: Database,
  turns: TurnSeed[],
  { modelId = 'scripted', thinking = true, instruction = null as string | null } = {},
): Promise<{ sessionId: string; turnId: string }> {
  const sessionId = newId('session');
  const projectId = 'proj_seed';
  await db.query(`INSERT INTO projects (id, name) VALUES ($1, $1) ON CONFLICT DO NOTHING`, [projectId]);
  await db.query(
    `INSERT INTO sessions (id, project_id, model_id, thinking_enabled, instruction, mcp_servers, metadata, turn_count)
     VALUES ($1, $2, $3, $4, $5, '{}', '{}', $6)`,
    [sessionId, projectId, modelId, thinking, instruction, turns.length],
  );
  let turnId = '';
  for (const [index, turn] of turns.entries()) {
    turnId = newId('turn');
    await db.query(
      `INSERT INTO turns (id, session_id, project_id, number, state, started_at)
       VALUES ($1, $2, $3, $4, $5, clock_timestamp())`,
      [turnId, sessionId, projectId, index + 1, turn.state],
    );
    const { content = `Message ${index + 1}`, files = [], skills = [] } = turn;
    await insertEvent(db, { sessionId, turnId, number: index + 1 }, 1, 'user.message', { content, files, skills });
    for (const [at, step] of (turn.steps ?? []).entries())
      await insertStep(db, turnId, at + 1, step, step.modelId ?? modelId);
    if (turn.cutOff !== undefined) await insertCutOff(db, { sessionId, turnId, number: index + 1 }, turn.cutOff);
  }
  return { sessionId, turnId };
}

async function insertStep(
  db: Database,
  turnId: string,
  number: number,
  step: StepSeed,
  modelId: string,
): Promise<void> {
  const uses = step.content.filter((block) => block.type === 'tool_use');
  await db.query(
    `INSERT INTO model_steps (turn_id, step, message_id, model_id, content, stop_reason) VALUES ($1, $2, $3, $4, $5, $6)`,
    [
      turnId,
      number,
      newId('message'),
      modelId,
      JSON.stringify(step.content),
      step.stopReason ?? (uses.length > 0 ? 'tool_use' : 'end_turn'),
    ],
  );
  for (const [index, use] of uses.entries()) {
    const call = step.calls?.[index] ?? null;
    await db.query(
      `INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input, state, content, is_error)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        turnId,
        number,
        index,
        use.id,
        use.name,
        JSON.stringify(use.input),
        call === null ? 'started' : 'done',
        call === null ? null : JSON.stringify(call.content),
        call === null ? null : (call.isError ?? false),
      ],
    );
  }
}

interface TurnOfSeed {
  sessionId: string;
  turnId: string;
  number: number;
}

async function insertCutOff(db: Database, turn: TurnOfSeed, content: string): Promise<void> {
  await insertEvent(db, turn, 2, 'agent.message', { message_id: 'msg_1', content, incomplete: true });
}

async function insertEvent(
  db: Database,
  { sessionId, turnId, number }: TurnOfSeed,
  position: number,
  type: string,
  data: object,
): Promise<void> {
  await db.query(
    `INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())`,
    [newId('event'), sessionId, turnId, number, position, type, JSON.stringify(data)],
  );
}
