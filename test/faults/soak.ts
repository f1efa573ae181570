/**
 * `npm run soak -- --minutes 60`: every kind of load at once, while processes and servers are killed every 20 s, clocks step, the
 * database fails over, Temporal is away, and deploys alternate between two builds. In the middle the database is restored from a
 * backup. Then one judge compares what clients and webhook receivers saw, what the servers of the tools were called for, and what
 * was paid. Prints figures, and fails when anything was lost, came twice or was paid twice.
 *
 * `--other-build FOLDER`: a checkout that is built, of a commit with the same schema, with which deploys alternate.
 */
import { setMaxListeners } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { faultCalls, type FaultCalls } from '../support/fault-calls.js';
import { startFaultSystem } from '../support/fault-system.js';
import { startMcpServer } from '../support/mcp-server.js';
import { THIS_BUILD, type RoleProcess } from '../support/role-process.js';
import { mochaGlobalSetup, mochaGlobalTeardown } from '../support/services.js';
import { Faults } from '../support/soak/faults.js';
import { judge, undelivered } from '../support/soak/judge.js';
import { KINDS, replies } from '../support/soak/kinds.js';
import { claimOf, type Entry, type Restore } from '../support/soak/ledger.js';
import { prepareOutside } from '../support/soak/outside.js';
import { Talk } from '../support/soak/talk.js';
import { eventually } from '../support/eventually.js';
import { startWebhookReceiver } from '../support/webhook-receiver.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '15' },
    every: { type: 'string', default: '20' },
    clients: { type: 'string', default: '8' },
    kinds: { type: 'string', default: Object.keys(KINDS).join() },
    'other-build': { type: 'string', default: THIS_BUILD },
    'no-faults': { type: 'boolean', default: false },
  },
});
const MINUTES = Number(values.minutes);
const names = values.kinds.split(',');
const ROLES = ['api', 'api', 'worker', 'worker'] as const;
const KILL_EVERY_MS = Number(values.every) * 1000;
/** A larger fault happens beside every third kill. */
const LARGER_EVERY = 3;
const PAUSE_MS = 500;
const AFTER_BACKUP_MS = 15_000;
const SETTLE_MS = 300_000;
/** Ten attempts, faster than in production: outages must not use them up. */
const RETRY_SECONDS = '1,5,10,10,20,20,20,20,20';
const CLOCK = fileURLToPath(new URL('../support/soak/stepped-clock.mjs', import.meta.url));
const clockDir = mkdtempSync(join(tmpdir(), 'soak-clocks-'));

const log = (line: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);

await mochaGlobalSetup();
const [notes, receiver] = await Promise.all([startMcpServer(), startWebhookReceiver()]);
const system = await startFaultSystem({
  apis: 0,
  workers: 0,
  ownPostgres: true,
  ownTemporal: true,
  proxies: true,
  queriesThroughProxy: true,
  price: { currency: 'USD', input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
  allowedHosts: [notes.host, receiver.host],
  env: {
    WEBHOOK_DELIVERIES: 'on',
    WEBHOOK_RETRY_SECONDS: RETRY_SECONDS,
    SANDBOX_PROVIDER: names.includes('workspace') ? 'bubblewrap' : 'off',
    NODE_OPTIONS: `--import=${CLOCK}`,
    SHUTDOWN_GRACE_SECONDS: '5',
  },
});
const clocks = new Map<RoleProcess, string>();
for (const [index, role] of ROLES.entries()) {
  const CLOCK_FILE = join(clockDir, String(index));
  clocks.set(await system.addRole(role, { CLOCK_FILE }), CLOCK_FILE);
}
const outside = await prepareOutside(system, { notes, receiver }, replies);
const faults = await Faults.prepare(system, receiver, clocks, values['other-build']);
const entries: Entry[] = [];
const troubles: string[] = [];
let restore: Restore | null = null;
let made = 0;

const callsUntil = (closed: AbortSignal): FaultCalls => faultCalls({ ...system, model: 'scripted', closed });
/** Ends what is under way; all clients listen to it. */
const newEpoch = (): AbortController => {
  const epoch = new AbortController();
  setMaxListeners(0, epoch.signal);
  return epoch;
};
let nextApi = 0;
const urls = (): string => system.apis[nextApi++ % system.apis.length]!.url;

/** Clients of all kinds in turn, until it is time; then each comes to its end, unless the epoch is closed before. */
async function load(until: () => boolean, closed: AbortSignal): Promise<void> {
  const client = async (): Promise<void> => {
    while (!until()) {
      const number = (made += 1);
      const name = names[number % names.length]!;
      const entry: Entry = {
        key: `${name} ${number}`,
        at: performance.now(),
        sessions: [],
        doneAt: null,
        isDenied: false,
      };
      entries.push(entry);
      const talk = new Talk(entry.key, number, entry, outside, callsUntil(closed), urls, closed);
      try {
        await KINDS[name]!.run(talk);
        entry.doneAt = performance.now();
      } catch (error) {
        if (!closed.aborted) {
          troubles.push(`${entry.key}: ${(error as Error).message}`);
          log(troubles.at(-1)!);
        }
      }
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: Number(values.clients) }, client));
}

async function disturb(until: () => boolean): Promise<void> {
  if (values['no-faults']) return;
  const larger = Object.entries(faults.all);
  for (let round = 1; !until(); round += 1) {
    await sleep(KILL_EVERY_MS * (0.5 + Math.random()));
    if (until()) return;
    await faults.kill();
    if (round % LARGER_EVERY !== 0) continue;
    const [name, happen] = larger[(round / LARGER_EVERY - 1) % larger.length]!;
    log(`${name}; ${entries.length} conversations, ${faults.counts.kill} kills`);
    await happen();
  }
}

/** What was under way at the restore comes to an end, as a person would end it. */
async function settleBegun(calls: FaultCalls): Promise<void> {
  for (const entry of entries) {
    if (claimOf(entry, restore) !== 'begun') continue;
    for (const { id, at } of entry.sessions) {
      if (at > restore!.backupAt) continue;
      await eventually(
        `${entry.key} ends after the restore`,
        async () => {
          const { body } = await calls.insist('GET', `/v1/sessions/${id}`);
          if (body.status !== 'RUNNING' && body.queue.length === 0) return true;
          await calls.insist('POST', `/v1/sessions/${id}/cancel`);
          await calls.insist('POST', `/v1/sessions/${id}/queue/release`);
          return false;
        },
        SETTLE_MS,
      ).catch((error: Error) => troubles.push(error.message));
    }
  }
}

const half = (MINUTES * 60_000) / 2;
const began = performance.now();
try {
  const first = newEpoch();
  const firstHalf = load(() => first.signal.aborted, first.signal);
  await disturb(() => performance.now() > began + half);
  if (values['no-faults']) await sleep(half);
  let backupAt = 0;
  log(`restore; ${entries.length} conversations`);
  const { restoredAt } = await faults.restore(
    () => (backupAt = performance.now()),
    async () => {
      await sleep(AFTER_BACKUP_MS);
      first.abort();
    },
  );
  await firstHalf;
  restore = { backupAt, restoredAt };
  const second = newEpoch();
  const calls = callsUntil(second.signal);
  await settleBegun(calls);
  const isOver = (): boolean => performance.now() > began + 2 * half;
  await Promise.all([load(isOver, second.signal), disturb(isOver)]);
  await faults.end();
  await eventually('every delivery', () => undelivered(entries, outside, restore) === 0, SETTLE_MS).catch(
    (error: Error) => troubles.push(error.message),
  );
  const readLog = async (sessionId: string): Promise<string> => {
    const path = `/v1/sessions/${sessionId}/workspace/content?path=/workspace/log`;
    return (await fetch(urls() + path, { headers: { Authorization: `Bearer ${system.key}` } })).text();
  };
  const { faults: found, ...figures } = await judge(calls, entries, outside, restore, readLog);
  const wrong = [...troubles, ...found];
  console.log(JSON.stringify({ minutes: MINUTES, ...figures, ...faults.counts, wrong: wrong.length }, null, 2));
  for (const line of wrong.slice(0, 100)) console.error(line);
  process.exitCode = wrong.length === 0 ? 0 : 1;
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
await faults.close();
await system.close();
await Promise.all([notes.close(), receiver.close()]);
await mochaGlobalTeardown();
// Questions to clients that are gone wait in the MCP server for minutes.
process.exit();
