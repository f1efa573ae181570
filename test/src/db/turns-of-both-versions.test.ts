import { expect } from 'chai';
import { readFacts } from '../../../src/turns/facts.js';
import { sumCalls } from '../../../src/turns/spent.js';
import { timing, type TurnTimes } from '../../../src/turns/timing.js';
import { useDatabase, usePool } from '../../support/use.js';

/** How the version before ends a turn: the clocks and sums of its row are what the terminal event says. */
const END = `
  UPDATE turns SET state = 'completed', ended_at = '2026-11-26T10:02:00Z', input_tokens = input_tokens + 5, cost = cost + 0.25,
    estimated_calls = estimated_calls + 1
  WHERE id = 'turn_1'
  RETURNING input_tokens::integer AS input, cost::text AS cost, estimated_calls, model_time::text, tools_time::text,
    waiting_time::text, task_time::text, model_started_at, waiting_started_at`;

describe('a turn of both versions', () => {
  const db = usePool(useDatabase(), 2);
  beforeEach(async () => {
    for (const table of [
      'turns',
      'open_turns',
      'model_attempts',
      'tool_calls',
      'mcp_tasks',
      'required_actions',
      'elicitations',
    ]) {
      await db.query(`DELETE FROM ${table}`);
    }
    await db.query(`
      INSERT INTO turns (id, session_id, project_id, number, state, queued_at, started_at, currency, input_tokens, cost, waiting_time)
        VALUES ('turn_1', 'ses_1', 'prj_1', 1, 'running', '2026-11-26T10:00:00Z', '2026-11-26T10:00:00Z', 'EUR', 3, 0.125, '7 s');
      INSERT INTO open_turns (turn_id, session_id, project_id, namespace) VALUES ('turn_1', 'ses_1', 'prj_1', 'test');
      INSERT INTO model_attempts (turn_id, step, position, attempt, message_id, worker_id, started_at, ended_at, model_id, usage, cost, currency)
        VALUES ('turn_1', 1, 1, 1, 'msg_1', 'w', '2026-11-26T10:00:00Z', NULL, 'm', '{"input_tokens": 10}', 0.5, 'EUR'),
          ('turn_1', 1, 1, 2, 'msg_2', 'w', '2026-11-26T10:00:10Z', '2026-11-26T10:00:15Z', 'm', '{"input_tokens": 20, "estimated": true}', 0.5, 'EUR'),
          ('turn_1', 2, 9, 1, 'msg_3', 'w', '2026-11-26T10:01:50Z', NULL, 'n', NULL, 7, 'USD');
      INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input, state, started_at, ended_at)
        VALUES ('turn_1', 1, 0, 'toolu_1', 'a', '{}', 'done', '2026-11-26T10:00:20Z', '2026-11-26T10:00:40Z'),
          ('turn_1', 1, 1, 'toolu_2', 'b', '{}', 'task', '2026-11-26T10:01:00Z', NULL),
          ('turn_1', 1, 2, 'toolu_3', 'c', '{}', 'pending', NULL, NULL);
      INSERT INTO mcp_tasks (turn_id, step, index, server_id, task_id, status, poll_ms, created_at)
        VALUES ('turn_1', 1, 1, 'mcp_1', 't', 'working', 1000, '2026-11-26T10:01:05Z');
      INSERT INTO required_actions (turn_id, step, index, session_id, tool_use_id, kind, state, asked_at, expires_at, answered_at, answer_position, closed_at)
        VALUES ('turn_1', 1, 2, 'ses_1', 'toolu_3', 'custom_tool_result', 'answered', '2026-11-26T10:00:30Z', '2026-11-27T10:00:00Z',
          '2026-11-26T10:00:50Z', 3, '2026-11-26T10:00:50Z');
      INSERT INTO elicitations (id, turn_id, step, index, session_id, mode, message, url, request, state, asked_at, expires_at, closed_at)
        VALUES ('eli_1', 'turn_1', 1, 1, 'ses_1', 'url', 'm', 'u', '1', 'withdrawn', '2026-11-26T10:01:10Z', '2026-11-27T10:00:00Z', '2026-11-26T10:01:30Z')`);
  });

  it('a turn of both versions ends with the figures of its rows when the version before ends it, with the usage that this adds', async () => {
    const [before] = await db.query<[TurnTimes]>(
      'SELECT queued_at, started_at, connected_at, connect_ms, first_token_at FROM turns',
    );
    const facts = await readFacts(db, 'turn_1');
    const { timing: times } = timing(before, facts, '2026-11-26T10:02:00.000000Z');
    expect(times).to.include({ model_ms: 25_000, tools_ms: 60_000, waiting_ms: 30_000 });
    const spent = sumCalls(facts.modelCalls, 'EUR');
    expect([spent.usage.input_tokens, spent.cost]).to.deep.equal([30, '1']);

    const [[row]] = await db.query<[[object]]>(END);
    expect(row).to.deep.equal({
      ...{ input: 35, cost: '1.250', estimated_calls: 2, model_started_at: null, waiting_started_at: null },
      ...{ model_time: '00:00:25', tools_time: '00:01:00', waiting_time: '00:00:30', task_time: '00:00:35' },
    });
  });

  it('a turn of both versions keeps its own figures when this version ends it', async () => {
    await db.query(`UPDATE turns SET state = 'cancelled', ended_at = now(), cost = 3, is_summed_up = true`);
    expect(await db.query('SELECT cost::text, waiting_time::text FROM turns')).to.deep.equal([
      { cost: '3', waiting_time: '00:00:07' },
    ]);
  });

  it('a turn of both versions has the counts of its rows after a return to the version before', async () => {
    await db.query('SELECT count_open_turns()');
    const [row] = await db.query(
      `SELECT input_tokens::integer AS input, cost::text AS cost, tools_running, tasks_running, waiting_time::text AS waiting,
         model_started_at IS NOT NULL AS model, tools_started_at IS NOT NULL AS tools, waiting_started_at IS NULL AS no_wait
       FROM turns`,
    );
    expect(row).to.deep.equal({
      ...{ input: 30, cost: '1.0', tools_running: 1, tasks_running: 1, waiting: '00:00:30' },
      ...{ model: true, tools: true, no_wait: true },
    });
  });

  it('a turn of both versions has the end of each wait that the version before closes, and keeps a wait that it opens again', async () => {
    await db.query(`
      INSERT INTO required_actions (turn_id, step, index, session_id, kind, state, asked_at, expires_at)
        VALUES ('turn_1', 2, -1, 'ses_1', 'budget', 'open', '2026-11-26T10:01:40Z', '2026-11-27T10:00:00Z');
      UPDATE required_actions SET state = 'answered', answered_at = now() WHERE kind = 'budget';
      UPDATE required_actions SET state = 'open', asked_at = now(), answered_at = NULL WHERE kind = 'budget';
      UPDATE elicitations SET state = 'open', closed_at = NULL;
      UPDATE elicitations SET state = 'expired'`);
    const waits = await db.query(
      `SELECT index, state, closed_at IS NOT NULL AS closed FROM required_actions WHERE kind = 'budget' ORDER BY index`,
    );
    expect(waits).to.deep.equal([
      { index: -2, state: 'answered', closed: true },
      { index: -1, state: 'open', closed: false },
    ]);
    expect(await db.query('SELECT FROM elicitations WHERE closed_at IS NULL')).to.have.length(0);
  });
});
