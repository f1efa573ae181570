import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openStorage } from '../../src/files/open-storage.js';
import { cleanStorage } from '../../src/files/maintenance.js';
import { findProjectId } from '../../src/projects/projects.js';
import { purgeSessions } from '../../src/sessions/purge.js';
import { dropOldPartitions } from '../../src/stream/delta-partitions.js';
import { forgetMatching } from '../../src/turns/usage-sums.js';
import { eventually } from '../support/eventually.js';
import { failure, steps, text, thinking, toolUse, wait, type Handler } from '../support/scripted-model.js';
import { removeWritable, requireSandbox } from '../support/sandbox.js';
import { useFaultSystem } from '../support/use.js';
import { confirmation, customResult, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { fetchHistory, textOfHistory } from '../support/workflow-history.js';

/** Also a name of a file, a key of metadata, a user and a part of an id of OAuth: nothing escapes it. */
const MARK = `erase${randomUUID().replaceAll('-', '')}`;
const FORM = {
  mode: 'form',
  message: `${MARK}-question`,
  requestedSchema: { type: 'object', properties: { answer: { type: 'string', title: `${MARK}-field` } } },
} as const;
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** docs/security.md "Erasing a person", followed to the letter, in processes that log all they can. */
describe('a person who is erased', function () {
  this.timeout(300_000);
  before(async function () {
    await requireSandbox(this);
  });
  const sandboxDir = mkdtempSync(join(tmpdir(), 'sandbox-erasure-'));
  after(() => removeWritable(sandboxDir));
  const isMarked = (path: string): boolean => path.includes(MARK) || readFileSync(path).includes(MARK);
  const env = {
    SANDBOX_DIR: sandboxDir,
    LOG_LEVEL: 'debug',
    SANDBOX_PROVIDER: 'bubblewrap',
    MODEL_RETRY_SECONDS: '1',
  };
  const system = useFaultSystem({
    env,
    price: { currency: 'USD', input: 1, output: 1, cache_read: 1, cache_write: 1 },
  });
  const turnIds: string[] = [];
  const sessions: string[] = [];

  // oxlint-disable-next-line typescript/no-explicit-any -- answers of many kinds
  const post = async (path: string, body: unknown, expected = 201): Promise<any> => {
    const answer = await system.insist('POST', path, body);
    expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).to.equal(expected);
    return answer.body;
  };
  const remove = async (path: string): Promise<void> => {
    const { status } = await system.insist('DELETE', path);
    expect(status, path).to.equal(204);
  };
  const api = (method: string, path: string, body?: unknown) => system.insist(method, path, body);
  const upload = async (name: string, key: string): Promise<string> => {
    const form = new FormData();
    form.set('file', new Blob([`${MARK} in the file`]), name);
    const headers = { Authorization: `Bearer ${key}`, 'Idempotency-Key': randomUUID() };
    const response = await fetch(`${system.apis[0]!.url}/v1/files`, { method: 'POST', headers, body: form });
    expect(response.status).to.equal(201);
    return ((await response.json()) as { id: string }).id;
  };
  const session = async (body: object): Promise<string> => {
    const { id } = await post('/v1/sessions', {
      model_id: 'scripted',
      instruction: `${MARK}-instruction`,
      metadata: { [`key_${MARK.slice(0, 20)}`]: `${MARK}-value`, customer: MARK },
      ...body,
    });
    sessions.push(id as string);
    return id as string;
  };
  const say = async (sessionId: string, content: string, more: object = {}): Promise<string> => {
    const { turn_id } = await post(`/v1/sessions/${sessionId}/messages`, {
      content: `${content} ${MARK}-message`,
      ...more,
    });
    turnIds.push(turn_id as string);
    return turn_id as string;
  };
  const turnEnds = (sessionId: string, turnId: string): Promise<{ type: string }> =>
    system.ended({ sessionId, turnId });

  /** Every place with the marker: `table.column`, files of the services' folder, histories and logs. */
  async function marked(): Promise<string[]> {
    const places = new Set<string>();
    const columns = await system.db.query<{ table: string; column: string }[]>(
      `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
       JOIN information_schema.tables USING (table_schema, table_name)
       WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
         AND data_type IN ('text', 'character varying', 'json', 'jsonb', 'bytea', 'ARRAY', 'USER-DEFINED')`,
    );
    expect(columns.length).to.be.greaterThan(200);
    for (const { table, column } of columns) {
      const [found] = await system.db.query<unknown[]>(
        `SELECT 1 FROM "${table}" WHERE position($1 IN "${column}"::text) > 0 OR position($2 IN "${column}"::text) > 0 LIMIT 1`,
        [MARK, Buffer.from(MARK).toString('hex')],
      );
      if (found !== undefined) places.add(`${table.replace(/^(deltas)_.*/, '$1')}.${column}`);
    }
    const folder = system.apis[0]!.env.DATA_DIR!;
    if (filesBelow(sandboxDir).some(isMarked)) places.add('sandbox');
    for (const path of filesBelow(folder)) if (isMarked(path)) places.add(`folder ${path.slice(folder.length)}`);
    // Contents of workspaces are compressed, so each object of the storage counts.
    for (const path of filesBelow(join(folder, 'files'))) {
      const key = path.slice(join(folder, 'files').length + 1);
      if (key !== 'installation') places.add(`storage ${key.split('/')[0]}`);
    }
    for (const id of turnIds) {
      if (textOfHistory(await fetchHistory(system.client, id)).includes(MARK)) places.add(`history of ${id}`);
      const description = await system.client.workflow.getHandle(id).describe();
      if (
        JSON.stringify(description, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)).includes(
          MARK,
        )
      )
        places.add(`description of ${id}`);
    }
    for (const each of new Set([...system.apis, ...system.workers])) {
      expect(each.log().length, `log of ${each.role}`).to.be.greaterThan(1000);
      const line = each
        .log()
        .split('\n')
        .find((one) => one.includes(MARK));
      if (line !== undefined) places.add(`log of ${each.role}: ${line}`);
    }
    return [...places].sort();
  }

  it('a person who is erased leaves nothing in tables, storage, logs and Temporal', async () => {
    const { model, mcp } = system;
    mcp.options.tools = [
      {
        name: 'ask',
        run: async ({ ask, progress }) => {
          await progress(1);
          const answer = await ask(FORM);
          return {
            content: [
              { type: 'text', text: `${MARK}-result ${JSON.stringify(answer)}` },
              { type: 'image', data: PICTURE, mimeType: 'image/png' },
            ],
          };
        },
      },
      { name: 'fail', run: () => ({ content: [{ type: 'text', text: `${MARK}-failure` }], isError: true }) },
      { name: 'crash', run: () => Promise.reject(new Error(`${MARK}-crash`)) },
      { name: 'long', run: () => `${MARK}-long `.repeat(40_000) },
    ];
    const { id: server } = await post('/v1/mcp-servers', { name: 'desk', url: mcp.url });
    const { id: webhook } = await post('/v1/webhooks', {
      url: 'https://example.com/hook',
      event_types: ['turn.completed', 'agent.file'],
    });
    const byKey = await upload(`${MARK}.txt`, system.key);

    const main = await session({
      user: `${MARK}@example.com`,
      budget: { max_cost: { amount: '5', currency: 'USD' }, on_reached: 'stop' },
      mcp_servers: [server],
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_id: server,
          elicitation: true,
          configs: [{ name: 'fail', permission_policy: { type: 'always_ask' } }],
        },
        { type: 'workspace' },
        {
          type: 'custom',
          name: 'look',
          description: `${MARK}-tool`,
          input_schema: { type: 'object', properties: { q: { type: 'string', description: `${MARK}-schema` } } },
        },
      ],
    });
    const { token } = await post(`/v1/sessions/${main}/tokens`, {
      scopes: ['read', 'send', 'files'],
      actor: `${MARK}-actor`,
    });
    const byToken = await upload(`${MARK}-token.txt`, token as string);

    // Every kind of content that a model can send, an unknown tool's name and broken input included.
    const gate = model.gate();
    model.on(
      /Everything/,
      steps(
        [
          thinking(`${MARK}-thought`),
          text(`${MARK}-text`),
          toolUse('mcp__desk__ask', { q: `${MARK}-input` }, { id: 'toolu_ask' }),
        ],
        [
          toolUse('mcp__desk__fail', { q: `${MARK}-input` }, { id: 'toolu_fail' }),
          toolUse('look', { q: `${MARK}-look` }, { id: 'toolu_look' }),
        ],
        [
          toolUse('mcp__desk__crash', { q: MARK }),
          toolUse(`${MARK}_tool`, { q: MARK }),
          toolUse('mcp__desk__long', {}),
        ],
        [
          toolUse('bash', {
            command: `mkdir -p /mnt/session/outputs; echo ${MARK} > /workspace/${MARK}.txt; cp /workspace/${MARK}.txt /mnt/session/outputs/${MARK}-out.txt; echo ${MARK}-output`,
          }),
        ],
        [
          toolUse('deliver_file', { filename: `${MARK}-given.txt`, content: `${MARK}-given` }),
          toolUse('read_file', { file_id: byKey }),
        ],
        [wait(gate), text(`${MARK}-end`)],
      ),
    );
    const turn = await say(main, 'Everything', { files: [byKey, byToken] });
    const [question] = await requiredActions({ api }, main);
    const answered = await sendAnswers({ api }, main, [
      {
        type: 'user.elicitation_result',
        elicitation_id: question.elicitation_id,
        action: 'accept',
        content: { answer: `${MARK}-answer` },
        actor: `${MARK}-actor`,
      },
    ]);
    expect(answered.status, JSON.stringify(answered.body)).to.equal(201);
    await requiredActions({ api }, main, 2);
    await sendAnswers({ api }, main, [
      confirmation('toolu_fail', 'deny', `${MARK}-denied`),
      customResult('toolu_look', `${MARK}-looked`),
    ]);
    await eventually('the last model call of the turn', () => model.requests.length > 5);
    await say(main, 'Later', { when_running: 'queue' });
    const { id: withdrawn } = await post(`/v1/sessions/${main}/messages`, {
      content: `${MARK}-withdrawn`,
      when_running: 'queue',
    });
    await remove(`/v1/sessions/${main}/queue/${withdrawn}`);
    gate.open();
    await turnEnds(main, turn);
    await turnEnds(main, turnIds.at(-1)!);

    // A value by a schema, after a value that is none; an error of the model that repeats what it got; a cancelled turn.
    const schema = {
      type: 'object',
      properties: { name: { type: 'string', description: `${MARK}-output` } },
      required: ['name'],
    };
    const giveOutput: Handler = ({ step }) =>
      toolUse('give_output', step === 0 ? { nothing: MARK } : { name: `${MARK}-value` });
    model.on(/Output/, giveOutput);
    await turnEnds(main, await say(main, 'Output', { output_schema: schema }));
    model.on(
      /Refused/,
      failure('invalid_request_error', { message: `no ${MARK}-refusal`, headers: { 'x-should-retry': 'false' } }),
    );
    expect((await turnEnds(main, await say(main, 'Refused'))).type).to.equal('turn.failed');
    model.on(/Broken/, [text(`${MARK}-cut`), wait(model.gate())]);
    const cancelled = await say(main, 'Broken');
    await eventually('it has begun', () => model.requests.some(({ body }) => JSON.stringify(body).includes('Broken')));
    await post(`/v1/sessions/${main}/cancel`, undefined, 200);
    await turnEnds(main, cancelled);

    const { id: fork } = await post(`/v1/sessions/${main}/fork`, {
      metadata: { customer: MARK, fork: `${MARK}-fork` },
    });
    sessions.push(fork as string);
    model.on(/Scheduled/, text(`${MARK}-scheduled`));
    const { id: schedule } = await post('/v1/schedules', {
      cron: '0 8 * * *',
      name: `${MARK}-schedule`,
      target: {
        type: 'new_session',
        session: { model_id: 'scripted', instruction: `${MARK}-i`, metadata: { customer: MARK } },
      },
      message: { content: `Scheduled ${MARK}` },
    });
    const { last_run: run } = await post(`/v1/schedules/${schedule}/run`, undefined, 200);
    sessions.push(run.session_id as string);
    turnIds.push(run.turn_id as string);
    await turnEnds(run.session_id as string, run.turn_id as string);

    const before = await marked();
    expect(before).to.include.members([
      ...['sessions.instruction', 'sessions.metadata', 'sessions.end_user', 'sessions.model_tools', 'events.data'],
      ...['model_steps.content', 'model_calls.error', 'tool_calls.name', 'tool_calls.input', 'tool_calls.content'],
      ...['waits.ask', 'files.filename', 'schedules.message', 'schedules.name', 'schedules.target'],
      ...['idempotency_records.response', 'webhook_deliveries.metadata', 'turn_usage.metadata', 'deltas.runs'],
      ...['storage files', 'storage results', 'storage workspaces', 'sandbox'],
    ]);
    expect(
      before.filter((place) => /^(history|description|log)/.test(place)),
      'Temporal and logs at any time',
    ).to.deep.equal([]);

    // What the page says.
    await remove(`/v1/schedules/${schedule}`);
    for (const id of sessions) {
      const { body } = await system.insist('GET', `/v1/files?session_id=${id}`);
      for (const file of body.items as { id: string }[]) await remove(`/v1/files/${file.id}`);
      await remove(`/v1/sessions/${id}`);
    }
    for (const id of [byKey, byToken]) await remove(`/v1/files/${id}`);
    const project = (await findProjectId(system.db, 'demo'))!;
    await forgetMatching(system.db, project, { key: 'customer', value: MARK });
    for (const id of sessions) await forgetMatching(system.db, project, { session: id });
    await system.db.query(`UPDATE sessions SET deleted_at = now() - interval '2 hours'`);
    while ((await purgeSessions(system.db, 1000)).sessions > 0);
    // Partitions older than ten minutes.
    await system.db.query('TRUNCATE deltas');
    await dropOldPartitions(system.db);
    const folder = system.apis[0]!.env.DATA_DIR!;
    const storage = await openStorage({ storageUrl: `file://${join(folder, 'files')}` } as Parameters<
      typeof openStorage
    >[0]);
    await cleanStorage(system.db, storage, { olderThanSeconds: -1, limit: 10_000 });
    // A worker empties its folder when it ends.
    for (const worker of system.workers) await worker.stop();

    expect(await marked()).to.deep.equal([]);
    await remove(`/v1/webhooks/${webhook}`);
  });
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}
