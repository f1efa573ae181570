import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import pLimit from 'p-limit';
import { eventually } from '../support/eventually.js';
import { markedColumns } from '../support/marked-tables.js';
import { steps, text, thinking, toolUse, wait } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';
import { fetchHistory, textOfHistory } from '../support/workflow-history.js';

type Json = Record<string, unknown>;

const SESSIONS = Number(process.env.ERASED_SESSIONS ?? 2000);
const OPEN_SESSIONS = 12;

/** An erasure of a user with many sessions, whose processes die at each of its steps (docs/memory.md "Erasing a person"). */
describe('an erasure whose processes die', function () {
  this.timeout(900_000);
  const system = useFaultSystem({ apis: 1, workers: 2, env: { LOG_LEVEL: 'debug' } });
  const post = async (path: string, body: unknown, status = 201): Promise<Json> => {
    const answer = await system.insist('POST', path, body);
    expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).to.equal(status);
    return answer.body as Json;
  };

  /** What a person has, all of it marked. Returns the ids of a session and a turn of it. */
  const fill = async (mark: string, webhook: boolean): Promise<{ sessionId: string; turnId: string; user: string }> => {
    const user = `${mark}@example.com`;
    if (webhook)
      await post('/v1/webhooks', { url: 'https://example.com/hook', event_types: ['turn.completed', 'agent.file'] });
    const { id } = await post('/v1/sessions', {
      model_id: 'scripted',
      user,
      instruction: `${mark}-instruction`,
      metadata: { customer: mark },
      tools: [
        { type: 'memory', of: 'user' },
        { type: 'custom', name: 'look', description: `${mark}-tool`, input_schema: { type: 'object' } },
      ],
    });
    const sessionId = id as string;
    const form = new FormData();
    form.set('file', new Blob([`${mark} in the file`]), `${mark}.txt`);
    const { token } = await post(`/v1/sessions/${sessionId}/tokens`, { scopes: ['files'] });
    const headers = { Authorization: `Bearer ${token as string}`, 'Idempotency-Key': randomUUID() };
    const uploaded = await fetch(`${system.apis[0]!.url}/v1/files`, { method: 'POST', headers, body: form });
    const { id: file } = (await uploaded.json()) as { id: string };
    system.model.on(
      new RegExp(mark),
      steps(
        [
          thinking(`${mark}-thought`),
          text(`${mark}-text`),
          toolUse('memory', { command: 'create', path: `/memories/user/${mark}`, file_text: mark }),
        ],
        [
          toolUse('memory', {
            command: 'str_replace',
            path: `/memories/user/${mark}`,
            old_str: mark,
            new_str: `${mark} 2`,
          }),
        ],
        [toolUse('deliver_file', { filename: `${mark}-given.txt`, content: `${mark}-given` })],
        [toolUse('read_file', { file_id: file })],
        `${mark}-end`,
      ),
    );
    const { turn_id } = await post(`/v1/sessions/${sessionId}/messages`, { content: `${mark}-message`, files: [file] });
    const turnId = turn_id as string;
    expect((await system.ended({ sessionId, turnId })).type).to.equal('turn.completed');
    await post('/v1/schedules', {
      cron: '0 8 1 1 *',
      name: `${mark}-schedule`,
      target: { type: 'new_session', session: { model_id: 'scripted', user } },
      message: { content: `${mark}-scheduled` },
    });
    return { sessionId, turnId, user };
  };

  /** What maintenance and the reconciler change by themselves. */
  const CHANGES = new Set(['usage_sums.name', 'deltas.runs']);
  /** A digest of each column with a mark. */
  const rowsOf = async (mark: string): Promise<Record<string, string>> => {
    const digests: Record<string, string> = {};
    for (const place of await markedColumns(system.db, mark)) {
      if (CHANGES.has(place)) continue;
      const [table, column] = place.split('.') as [string, string];
      const [row] = await system.db.query<{ digest: string }[]>(
        `SELECT count(*) || ' ' || md5(coalesce(string_agg("${column}"::text, ' ' ORDER BY "${column}"::text), '')) AS digest
         FROM "${table}" WHERE position($1 IN "${column}"::text) > 0`,
        [mark],
      );
      digests[place] = row!.digest;
    }
    return digests;
  };

  it('an erasure whose processes die leaves nothing of the user, and all of anybody else', async () => {
    const [mark, other] = [`erase${randomUUID().replaceAll('-', '')}`, `stays${randomUUID().replaceAll('-', '')}`];
    const { sessionId, turnId, user } = await fill(mark, true);
    await fill(other, false);
    const { id: server } = await post('/v1/mcp-servers', { name: 'desk', url: system.mcp.url, credentials: 'user' });
    for (const each of [user, `${other}@example.com`])
      await post('/v1/credentials', { mcp_server_id: server, user: each, auth: { type: 'BEARER', token: 'secret' } });
    const limit = pLimit(8);
    await limit.map(Array.from({ length: SESSIONS }), () => post(`/v1/sessions/${sessionId}/fork`, {}));
    const [counted] = await system.db.query<{ n: number }[]>(
      'SELECT count(*)::integer AS n FROM sessions WHERE end_user = $1',
      [user],
    );
    expect(counted!.n).to.equal(SESSIONS + 1);
    // Some are open: the model answers, or a client's tool runs, and messages wait.
    const gate = system.model.gate();
    system.model.on(/Open/, text('', { before: { 0: wait(gate) } }));
    system.model.on(/Wait/, toolUse('look', { q: mark }));
    const forks = await system.db.query<{ id: string }[]>(
      'SELECT id FROM sessions WHERE end_user = $1 AND id <> $2 ORDER BY id LIMIT $3',
      [user, sessionId, OPEN_SESSIONS],
    );
    for (const [index, { id }] of forks.entries()) {
      await post(`/v1/sessions/${id}/messages`, { content: `${index % 2 === 0 ? 'Open' : 'Wait'} ${mark}` });
      await post(`/v1/sessions/${id}/messages`, { content: `Later ${mark}`, when_running: 'queue' });
    }
    const before = await markedColumns(system.db, mark);
    expect(before).to.include.members([
      ...['sessions.instruction', 'sessions.end_user', 'events.data', 'model_steps.content', 'tool_calls.input'],
      ...['files.filename', 'memory_files.text', 'memory_versions.text', 'memories.end_user', 'schedules.target'],
      ...['user_credentials.end_user', 'turn_usage.metadata', 'webhook_deliveries.metadata', 'waiting_messages.data'],
      ...['idempotency_records.response', 'session_states.preview_folded', 'deltas.runs'],
    ]);
    const othersBefore = await rowsOf(other);

    const { id } = await post('/v1/erasures', { user }, 202);
    const stateOf = async (): Promise<Json> =>
      (await system.insist('GET', `/v1/erasures/${id as string}`)).body as Json;
    /** A worker dies when this is true, or the erasure is done; each begins where the rows say. */
    const died: string[] = [];
    const kill = async (step: string, condition: string): Promise<void> => {
      let isMet = false;
      await eventually(
        step,
        async () => {
          const [row] = await system.db.query<{ met: boolean; done: boolean }[]>(
            `SELECT finished_at IS NOT NULL AS done, (${condition}) AS met FROM erasures e WHERE id = $1`,
            [id],
          );
          isMet = row!.met && !row!.done;
          return row!.met || row!.done;
        },
        300_000,
      );
      if (!isMet) return;
      died.push(step);
      const [first, second] = system.workers;
      await first!.kill();
      await second!.kill();
      await Promise.all([first!.start(), second!.start()]);
    };
    const live = 'SELECT FROM sessions s WHERE s.end_user = e.end_user AND deleted_at IS NULL';
    await kill('it has begun', 'true');
    await kill('the first sessions are deleted', 'sessions > 0');
    await kill('half of the sessions are deleted', `sessions > ${SESSIONS / 2}`);
    await kill('all sessions are deleted', `NOT EXISTS (${live})`);
    await kill('the first rows are gone', 'EXISTS (SELECT FROM erased_sessions WHERE erasure_id = e.id)');
    await kill('half of the rows are gone', `(SELECT count(*) FROM erased_sessions) > ${SESSIONS / 2}`);
    await kill('all rows are gone', 'NOT EXISTS (SELECT FROM sessions s WHERE s.end_user = e.end_user)');
    expect(died).to.have.length.above(4);
    await eventually('the erasure is done', async () => (await stateOf()).status === 'done', 300_000);
    gate.open();
    expect(await stateOf()).to.include({ sessions: SESSIONS + 1, credentials: 1, memories: 1, files: 2 });

    // What it keeps: for 30 days whom it erased.
    expect(await markedColumns(system.db, mark)).to.deep.equal(['erasures.end_user']);
    expect(await rowsOf(other)).to.deep.equal(othersBefore);
    const folder = system.apis[0]!.env.DATA_DIR!;
    const marked = filesBelow(folder).filter((path) => path.includes(mark) || readFileSync(path).includes(mark));
    expect(marked).to.deep.equal([]);
    for (const workflow of [turnId, id as string])
      expect(textOfHistory(await fetchHistory(system.client, workflow))).not.to.include(mark);
    for (const each of [...system.apis, ...system.workers]) expect(each.log(), each.role).not.to.include(mark);
    const { body } = await system.insist('GET', `/v1/memories?user=${other}@example.com`);
    expect(body.items).to.have.length(1);
  });
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}
