/**
 * `npm run check -- waiting-authorizations`: what calls cost that wait for a credential of their user (docs/mcp.md). Prints the time of
 * another project's turns alone and beside 1,000 turns of 1,000 users that wait, with the slots of the worker that are taken. Then how
 * long after a credential is stored its call reaches the server: for one user at a time, and for all that are left at once. At the end the
 * server says whether each call came once, with its own user's credential. One API and one worker, with the defaults but without the rate limit
 * and with room for that many running turns in the project.
 */
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFaultSystem } from '../support/fault-system.js';
import { steps, toolUse } from '../support/scripted-model.js';

const { values } = parseArgs({
  options: {
    users: { type: 'string', default: '1000' },
    single: { type: 'string', default: '100' },
    samples: { type: 'string', default: '20' },
  },
});
const USERS = Number(values.users);
const SINGLE = Number(values.single);
const AT_ONCE = 16;
const TIMEOUT_MS = 600_000;

const system = await startFaultSystem({ ownPostgres: true, ownTemporal: true });
const { model, mcp, db } = system;
/** When each user's call reached the server, and whose token it had. */
const calls: { user: string; token: string; at: number }[] = [];
mcp.options.tools = [{ name: 'read' }];
mcp.options.gateway = (req, _res, body) => {
  const { method, params } = JSON.parse(body === '' ? '{}' : body);
  const token = String(req.headers.authorization).replace('Bearer ', '');
  if (method === 'tools/call') calls.push({ user: params.arguments.user, token, at: performance.now() });
  return false;
};
model.on(/^for \w+/, (request, index) =>
  steps([toolUse('mcp__notes__read', { user: request.userText.split(/\s/)[1] })], 'Done.')(request, index),
);
model.on(/^look$/, 'Done.');

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const began = performance.now();
  while (!(await isSo())) {
    if (performance.now() - began > TIMEOUT_MS) throw new Error(`not within ${TIMEOUT_MS} ms: ${what}`);
    await sleep(20);
  }
}
async function forAll<T>(items: T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items];
  const next = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}
const count = async (query: string): Promise<number> => Number((await db.query<[{ count: string }]>(query))[0].count);
const openWaits = (): Promise<number> => count(`SELECT count(*) FROM authorization_waits WHERE state = 'open'`);
const openTurns = (): Promise<number> => count('SELECT count(*) FROM open_turns');

function shown(times: number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): number => Math.round(sorted[Math.ceil(share * sorted.length) - 1]!);
  return `${at(0.5)} ms (p95 ${at(0.95)}, worst ${at(1)})`;
}

const otherKey = await system.newKey('other');
async function measure(what: string): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < Number(values.samples); n += 1) {
    const session = await system.session({}, otherKey);
    const began = performance.now();
    await system.ended(await system.send(session, 'look', otherKey));
    times.push(performance.now() - began);
  }
  const metrics = await (await fetch(`${system.workers[0]!.url}/metrics`)).text();
  console.log(`${what}: turns ${shown(times)}; ${metrics.match(/^activity_slots.*$/gm)?.join(', ')}`);
}

try {
  const auth = { type: 'BEARER', token: 'own' };
  const server = { name: 'notes', url: mcp.url, auth, credentials: 'user' };
  const mcp_server_id = (await system.insist('POST', '/v1/mcp-servers', server)).body.id as string;
  const stored = new Map<string, number>();
  const connect = async (user: string): Promise<void> => {
    const body = { mcp_server_id, user, auth: { type: 'BEARER', token: `token-of-${user}` } };
    const { status } = await system.insist('POST', '/v1/credentials', body);
    if (status !== 201) throw new Error(`the credential of ${user} was answered with ${status}`);
    stored.set(user, performance.now());
  };
  const latency = (user: string): number => calls.find((call) => call.user === user)!.at - stored.get(user)!;
  const arrived = (users: string[]): boolean => {
    const seen = new Set(calls.map(({ user }) => user));
    return users.every((user) => seen.has(user));
  };

  await measure('alone');
  await db.query(`UPDATE projects SET max_running_turns = $1 WHERE name = 'demo'`, [USERS]);
  const users = Array.from({ length: USERS }, (_, n) => `user${n}`);
  await forAll(users, async (user) => {
    const session = await system.session({ user, mcp_servers: [mcp_server_id] });
    await system.send(session, `for ${user}`);
  });
  await until('all of them wait', async () => (await openWaits()) === USERS);
  await measure(`beside ${USERS} calls that wait`);

  const first = users.slice(0, SINGLE);
  for (const user of first) {
    await connect(user);
    await until(`the call of ${user}`, async () => arrived([user]));
  }
  console.log(`one after the other, stored to sent: ${shown(first.map(latency))}`);
  const rest = users.slice(SINGLE);
  const began = performance.now();
  await forAll(rest, connect);
  await until('all calls', async () => arrived(rest));
  const took = Math.round(performance.now() - began);
  console.log(
    `${rest.length} at once, ${AT_ONCE} requests at a time, in ${took} ms, stored to sent: ${shown(rest.map(latency))}`,
  );
  await until('all turns end', async () => (await openTurns()) === 0);
  const wrong = calls.filter(({ user, token }) => token !== `token-of-${user}`).length;
  console.log(
    `${calls.length} calls of ${new Set(calls.map(({ user }) => user)).size} users, ${wrong} with another's credential`,
  );
} finally {
  await system.close();
}
