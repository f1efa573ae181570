import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { faultCalls } from '../../test/support/fault-calls.js';
import { startMcpServer } from '../../test/support/mcp-server.js';
import { KINDS, replies } from '../../test/support/soak/kinds.js';
import { prepareOutside } from '../../test/support/soak/outside.js';
import { Talk } from '../../test/support/soak/talk.js';
import { startWebhookReceiver } from '../../test/support/webhook-receiver.js';
import { timed } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';
import { dropIndexes, fillInBatches, TURNS_PER_SESSION } from './growth.js';

/** Beyond this many rows read for each row that it returns or writes, a statement is shown. */
const MAX_RATIO = 100;
const ROUNDS = 3;
const PURGED_SESSIONS = 50;
const TASKS = [
  'purge-sessions',
  'idempotency-records',
  'webhook-deliveries',
  'schedule-runs',
  'memory-versions',
  'erasures',
  'usage',
  'storage',
  'retention',
];
/** Rounds of the reconcilers, and of maintenance, run meanwhile. */
const REST_MS = 90_000;

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

interface Statement {
  calls: number;
  /** Of the call with the largest ratio. */
  read: number;
  returned: number;
  scans: string;
}

/**
 * The service runs every kind of conversation, list and maintenance on tables that SQL has filled, while Postgres logs the plan of
 * each statement with the rows that it read (auto_explain).
 */
export default scenario({
  measures: 'what each statement of the service reads on full tables, beside what it returns',
  options: { turns: 1_000_000 },
  async run(bench, { turns }) {
    const [notes, receiver] = await Promise.all([startMcpServer(), startWebhookReceiver()]);
    bench.atEnd(() => Promise.all([notes.close(), receiver.close()]));
    const system = await bench.system({
      apis: 0,
      workers: 0,
      ownPostgres: true,
      allowedHosts: [notes.host, receiver.host],
      price: { currency: 'USD', input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
      env: { WEBHOOK_DELIVERIES: 'on', SANDBOX_PROVIDER: 'bubblewrap', RETENTION_DAYS: '365', MAINTENANCE: 'on' },
    });
    const { url } = system.postgres!;
    const connect = async (): Promise<pg.Client> => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      bench.atEnd(() => client.end());
      return client;
    };
    const [admin, second] = await Promise.all([connect(), connect()]);
    const projects = await admin.query<{ id: string }>('SELECT id FROM projects');
    const projectId = projects.rows[0]!.id;
    const took = await timed(async () => {
      const build = await dropIndexes(admin);
      const middle = turns / 2;
      await Promise.all([fillInBatches(admin, projectId, 0, middle), fillInBatches(second, projectId, middle, turns)]);
      await fillBeside(admin, projectId);
      await build();
    });
    row('filled in', `${(took / 1000).toFixed(0)} s`);
    const { rows: settings } = await admin.query<{ data_directory: string }>('SHOW data_directory');
    for (const setting of [
      `session_preload_libraries = 'auto_explain'`,
      'auto_explain.log_min_duration = 0',
      'auto_explain.log_analyze = on',
      'auto_explain.log_timing = off',
      'auto_explain.log_nested_statements = on',
      `auto_explain.log_format = 'json'`,
    ]) {
      await admin.query(`ALTER SYSTEM SET ${setting}`);
    }
    await admin.query('SELECT pg_reload_conf()');

    await system.addRole('api');
    await system.addRole('worker');
    const outside = await prepareOutside(system, { notes, receiver }, replies);
    const { signal } = new AbortController();
    let number = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const talks = Object.entries(KINDS).map(async ([name, kind]) => {
        const n = (number += 1);
        const entry = { key: `${name} ${n}`, at: 0, sessions: [], doneAt: null, isDenied: false };
        const calls = faultCalls({ ...system, model: 'scripted', closed: signal });
        await kind.run(new Talk(entry.key, n, entry, outside, calls, () => system.apis[0]!.url, signal));
      });
      await Promise.all(talks);
    }
    await readLists((...request) => system.insist(...request), admin);
    for (const task of TASKS) {
      const id = `${system.apis[0]!.env.TASK_QUEUE}-maintenance-${task}`;
      await system.client.schedule.getHandle(id).trigger();
    }
    await sleep(REST_MS);

    const log = readFileSync(join(dirname(dirname(settings[0]!.data_directory)), 'postgres.log'), 'utf8');
    const statements = [...readPlans(log)];
    row('statements', String(statements.length));
    const large = statements.filter(([, { read, returned }]) => read > MAX_RATIO * returned);
    row(`of which read more than ${MAX_RATIO} times what they return`, String(large.length));
    for (const [text, { calls, read, returned, scans }] of large.sort(([, a], [, b]) => b.read - a.read)) {
      row(text.slice(0, 160), `${read} read, ${returned} returned, ${calls} calls; ${scans}`);
    }
  },
});

/** What stands beside the turns: a workspace of each session, all on the same objects, usage and deliveries. */
async function fillBeside(client: pg.Client, projectId: string): Promise<void> {
  for (const statement of [
    `INSERT INTO workspaces (session_id, project_id, version, objects, cwd, size_bytes, file_count, updated_at)
     SELECT id, project_id, 3, '{workspaces/shared/manifest,workspaces/shared/pack}', '/workspace', 2048, 4, created_at
     FROM sessions`,
    `INSERT INTO turn_usage (turn_id, model_id, project_id, session_id, ended_at, metadata, model_calls, input_tokens, output_tokens,
       cache_read_input_tokens, cache_creation_input_tokens, cost, currency, is_unpriced, is_first, is_summed)
     SELECT id, 'm', project_id, session_id, ended_at, '{}', 1, 100, 10, 0, 0, 0.001, 'USD', false, true, true FROM turns`,
    `INSERT INTO webhook_deliveries (id, webhook_id, project_id, event_type, event_id, session_id, turn_id, state, attempt_count,
       wake_at, created_at)
     SELECT 'dlv_' || id, 'whk_old', project_id, 'turn.completed', 'evt_' || id, session_id, id, 'delivered', 1, now(), now()
     FROM turns WHERE number = 1`,
    `UPDATE sessions SET deleted_at = now() - interval '2 hours' WHERE id IN (SELECT id FROM sessions LIMIT ${PURGED_SESSIONS})`,
  ]) {
    await client.query(`SET session_replication_role = replica`);
    await client.query(statement);
    await client.query(`SET session_replication_role = origin`);
  }
  await client.query(`UPDATE projects SET max_running_turns = 1000 WHERE id = $1`, [projectId]);
}

type Insist = (method: string, path: string, body?: unknown) => Promise<unknown>;

/** Every list and object of the API, of a session that was filled in. */
async function readLists(insist: Insist, client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ session_id: string; id: string }>(
    `SELECT session_id, id FROM turns WHERE number = ${TURNS_PER_SESSION} AND session_id IN
       (SELECT id FROM sessions WHERE deleted_at IS NULL ORDER BY id DESC LIMIT 1)`,
  );
  const { session_id: session, id: turn } = rows[0]!;
  const { rows: events } = await client.query<{ id: string }>('SELECT id FROM events WHERE session_id = $1', [session]);
  const of = `/v1/sessions/${session}`;
  for (const path of [
    ...['skills', 'mcp-servers', 'credentials', 'files', 'webhooks', 'schedules', 'models'].map(
      (name) => `/v1/${name}`,
    ),
    ...['', '?status=COMPLETE', '?status=RUNNING', '?order=activity', '?order=activity&status=COMPLETE', '?q=fork'].map(
      (query) => `/v1/sessions${query}`,
    ),
    ...['metadata[team]=none', 'created_after=2026-01-01T00:00:00Z', 'requires_action=true'].map(
      (query) => `/v1/sessions?${query}`,
    ),
    ...['', '/queue', '/events', '/turns', `/turns/${turn}`, `/turns/${turn}/timeline`].map((path) => of + path),
    ...[`/events/${events[0]!.id}`, '/events?order=desc', '/events?types=user.message'].map((path) => of + path),
    ...['day', 'model', 'session', 'metadata.team'].map((group) => `/v1/usage?group_by=${group}`),
    `/v1/files?session_id=${session}`,
  ]) {
    await insist('GET', path);
  }
  await insist('PATCH', of, { metadata: { seen: randomUUID() } });
  await insist('POST', `${of}/fork`);
  await insist('DELETE', of);
}

/** The statements of a log of Postgres by their text, each with its worst call. */
function readPlans(log: string): Map<string, Statement> {
  const statements = new Map<string, Statement>();
  for (const [, json] of log.matchAll(/ LOG: {2}duration: [\d.]+ ms {2}plan:\n((?:\t.*\n)+)/g)) {
    const { 'Query Text': text, Plan: plan } = JSON.parse(json!) as { 'Query Text': string; Plan: Plan };
    const key = text.replaceAll(/\s+/g, ' ').trim();
    const read = rowsRead(plan);
    const returned = Math.max(1, rowsReturned(plan));
    const before = statements.get(key);
    const calls = (before?.calls ?? 0) + 1;
    const isWorse = before === undefined || read / returned > before.read / before.returned;
    statements.set(key, isWorse ? { calls, read, returned, scans: scansOf(plan).join(', ') } : { ...before, calls });
  }
  return statements;
}

/** Rows that the scans of a plan looked at. */
function rowsRead(plan: Plan): number {
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  const own = plan['Relation Name'] === undefined ? removed : plan['Actual Rows'] + removed;
  return (plan.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), own * plan['Actual Loops']);
}

/** Rows that it returns, and those that it writes. */
function rowsReturned(plan: Plan): number {
  return plan['Actual Rows'] + rowsWritten(plan);
}

function rowsWritten(plan: Plan): number {
  const children = plan.Plans ?? [];
  const own = plan['Node Type'] === 'ModifyTable' ? children[0]!['Actual Rows'] * children[0]!['Actual Loops'] : 0;
  return children.reduce((sum, child) => sum + rowsWritten(child), own);
}

function scansOf(plan: Plan): string[] {
  const own = plan['Relation Name'] === undefined ? [] : [`${plan['Node Type']} ${plan['Relation Name']}`];
  return [...own, ...(plan.Plans ?? []).flatMap(scansOf)];
}
