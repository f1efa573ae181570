/**
 * `npm run check -- open-questions`: what the open questions of one project cost the others. Prints the time of another project's turns
 * with one tool call, and of its lists: alone, beside 139 calls that each wait for a person, beside 50 turns with 20 open questions each, and while
 * these are answered. Then the bytes of `agent.requires_action` of one call that asks as much as it may, and how long answers to
 * a form of 1,000 fields take, with another project's reads beside them. One API and one worker, with the defaults but without the rate
 * limit, which lets a key answer 60 questions a minute.
 */
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFaultSystem } from '../../test/support/fault-system.js';
import type { TestToolCall } from '../../test/support/mcp-server.js';
import { steps, toolUse } from '../../test/support/scripted-model.js';

const { values } = parseArgs({
  options: {
    samples: { type: 'string', default: '20' },
    turns: { type: 'string', default: '50' },
    callers: { type: 'string', default: '139' },
  },
});
const QUESTIONS = 20;
const TIMEOUT_MS = 120_000;

const system = await startFaultSystem({ ownPostgres: true, ownTemporal: true });
const { model, mcp, db } = system;
const form = (fields: number, description = ''): unknown => ({
  mode: 'form',
  message: 'Which?',
  requestedSchema: {
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: fields }, (_, n) => [
        `f${n}`,
        { type: 'string', ...(description !== '' && { description }) },
      ]),
    ),
  },
});
const askMany = (count: number, question: unknown) => async (call: TestToolCall) => {
  const ask = (): Promise<unknown> => call.ask(question as Parameters<TestToolCall['ask']>[0]).catch(() => null);
  await Promise.all(Array.from({ length: count }, ask));
  return 'ok';
};
const asking = {
  one: askMany(1, form(1)),
  many: askMany(QUESTIONS, form(1)),
  large: askMany(QUESTIONS, form(12, 'x'.repeat(1000))),
  wide: askMany(QUESTIONS, form(1000)),
};
mcp.options.tools = [{ name: 'look' }, ...Object.entries(asking).map(([name, run]) => ({ name, run }))];
for (const name of ['look', ...Object.keys(asking)]) {
  model.on(new RegExp(`^${name}$`), steps([toolUse(`mcp__ops__${name}`, {})], 'Done.'));
}

type Body = Record<string, never> & {
  id: string;
  items: { id: string }[];
  required_actions: { elicitation_id: string }[];
};
interface Project {
  call: (method: string, path: string, body?: object) => Promise<Body>;
  start: (message: string) => Promise<string>;
}

async function project(name: string): Promise<Project> {
  const key = await system.newKey(name);
  const call: Project['call'] = async (method, path, body) => {
    const response = await fetch(`${system.apis[0]!.url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Body;
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  const { id } = await call('POST', '/mcp-servers', { name: 'ops', url: `${mcp.url}?${name}` });
  const tools = [{ type: 'mcp_toolset', mcp_server_id: id, elicitation: true }];
  const start: Project['start'] = async (message) => {
    const session = await call('POST', '/sessions', { model_id: 'scripted', mcp_servers: [id], tools });
    await call('POST', `/sessions/${session.id}/messages`, { content: message });
    return session.id;
  };
  return { call, start };
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const began = performance.now();
  while (!(await isSo())) {
    if (performance.now() - began > TIMEOUT_MS) throw new Error(`not within ${TIMEOUT_MS} ms: ${what}`);
    await sleep(50);
  }
}
const count = async (query: string, ...parameters: unknown[]): Promise<number> =>
  Number((await db.query<{ count: string }[]>(query, parameters))[0]!.count);
const openQuestions = (): Promise<number> => count(`SELECT count(*) FROM waits WHERE state = 'open'`);
const openTurns = (): Promise<number> => count('SELECT count(*) FROM open_turns');
const ended = (sessionId: string) => async (): Promise<boolean> =>
  (await count(
    'SELECT count(*) FROM open_turns t JOIN turns ON turns.id = t.turn_id WHERE turns.session_id = $1',
    sessionId,
  )) === 0;

function shown(times: number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): number => Math.round(sorted[Math.ceil(share * sorted.length) - 1]!);
  return `${at(0.5)} ms (p95 ${at(0.95)}, worst ${at(1)})`;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const [busy, more, victim] = [await project('busy'), await project('more'), await project('victim')];
const turnOfVictim = async (): Promise<void> => {
  const id = await victim.start('look');
  await until('the turn of the victim ends', ended(id));
};
async function measure(what: string): Promise<void> {
  const [times, lists]: [number[], number[]] = [[], []];
  for (let n = 0; n < Number(values.samples); n += 1) {
    times.push(await timed(turnOfVictim));
    lists.push(await timed(() => victim.call('GET', '/sessions')));
  }
  const activity = (await (await fetch(`${system.workers[0]!.url}/metrics`)).text()).match(/^activity_slots.*$/gm);
  console.log(`${what}: turns ${shown(times)}, lists ${shown(lists)}; ${activity?.join(', ') ?? 'no activity_slots'}`);
}
async function startAll(of: Project, message: string, turns: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < turns; n += 1) ids.push(await of.start(message));
  return ids;
}
async function answer(of: Project, sessionId: string, content: object = {}): Promise<void> {
  const { required_actions: actions } = await of.call('GET', `/sessions/${sessionId}`);
  const events = actions.map(({ elicitation_id }) => ({
    type: 'user.elicitation_result',
    elicitation_id,
    action: 'accept',
    content,
  }));
  if (events.length > 0) await of.call('POST', `/sessions/${sessionId}/events`, { events });
}

try {
  await turnOfVictim();
  await measure('alone');

  const callers = Number(values.callers);
  const first = Math.min(94, callers);
  const waiting: [Project, string][] = [];
  for (const id of await startAll(busy, 'one', first)) waiting.push([busy, id]);
  for (const id of await startAll(more, 'one', callers - first)) waiting.push([more, id]);
  await until('all of them ask', async () => (await openQuestions()) === callers);
  await measure(`beside ${callers} calls that wait for a person`);
  const took = await timed(async () => {
    for (const [of, id] of waiting) await answer(of, id);
    await until('all turns end', async () => (await openTurns()) === 0);
  });
  console.log(`all ${callers} answered, one after the other, and ended: ${Math.round(took)} ms`);

  const turns = Number(values.turns);
  const sessions = await startAll(busy, 'many', turns);
  await until('all of them ask', async () => (await openQuestions()) === turns * QUESTIONS);
  const before = await count('SELECT sum(xact_commit + xact_rollback) AS count FROM pg_stat_database');
  await sleep(10_000);
  const after = await count('SELECT sum(xact_commit + xact_rollback) AS count FROM pg_stat_database');
  console.log(`${turns * QUESTIONS} open questions: ${Math.round((after - before) / 10)} transactions a second`);
  await measure(`beside ${turns * QUESTIONS} open questions`);
  const answering = timed(async () => {
    for (const id of sessions) await answer(busy, id);
    await until('all turns end', async () => (await openTurns()) === 0);
  });
  await measure('while they are answered');
  console.log(`answered and ended: ${Math.round(await answering)} ms`);

  const [large] = await startAll(busy, 'large', 1);
  await until('it asks', async () => (await openQuestions()) === QUESTIONS);
  const bytes = await count(
    `SELECT sum(octet_length(data::text)) AS count FROM events WHERE session_id = $1 AND type = 'agent.requires_action'`,
    large,
  );
  console.log(`20 questions of 12 KiB: ${(bytes / 1024 / 1024).toFixed(1)} MiB of agent.requires_action`);
  await answer(busy, large!);
  await until('it ends', ended(large!));

  const [wide] = await startAll(busy, 'wide', 1);
  // 24 KiB each: so many of them may be open.
  await until('it asks', async () => (await openQuestions()) >= 10);
  const reads: number[] = [];
  let isDone = false;
  const reading = (async () => {
    while (!isDone) reads.push(await timed(() => victim.call('GET', '/sessions?limit=1')));
  })();
  const content = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`f${n}`, 'x']));
  const posted = await timed(() => answer(busy, wide!, content));
  isDone = true;
  await reading;
  console.log(`answers to 10 open forms of 1,000 fields: ${Math.round(posted)} ms, reads beside them ${shown(reads)}`);
} finally {
  await system.close();
}
