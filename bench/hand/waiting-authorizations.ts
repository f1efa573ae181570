/**
 * `npm run check -- waiting-authorizations`: what calls cost that wait for a credential of their user (docs/mcp.md). Prints the time of
 * another project's turns alone and beside 1,000 turns of 1,000 users that wait, with the slots of the worker that are taken. Then how
 * long after a credential is stored its call reaches the server: for one user at a time, and for all that are left at once. At the end the
 * server says whether each call came once, with its own user's credential. One API and one worker, with the defaults but without the rate limit
 * and with room for that many running turns in the project.
 */
import { parseArgs } from 'node:util';
import pLimit from 'p-limit';
import { shown, timed } from '../measure.js';
import { eventually } from '../../test/support/eventually.js';
import { startFaultSystem } from '../../test/support/fault-system.js';
import { tokenGateway } from '../../test/support/mcp-server.js';
import { steps, toolUse } from '../../test/support/scripted-model.js';

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
mcp.options.gateway = tokenGateway(
  () => true,
  (token, { user }) => calls.push({ user: user as string, token, at: performance.now() }),
);
model.on(/^for \w+/, (request, index) =>
  steps([toolUse('mcp__notes__read', { user: request.userText.split(/\s/)[1] })], 'Done.')(request, index),
);
model.on(/^look$/, 'Done.');

const until = (what: string, isSo: () => Promise<boolean> | boolean): Promise<void> =>
  eventually(what, isSo, TIMEOUT_MS);
const limit = pLimit(AT_ONCE);
const count = async (query: string): Promise<number> => Number((await db.query<[{ count: string }]>(query))[0].count);
const openWaits = (): Promise<number> => count(`SELECT count(*) FROM waits WHERE state = 'open'`);
const openTurns = (): Promise<number> => count('SELECT count(*) FROM open_turns');

const otherKey = await system.newKey('other');
async function measure(what: string): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < Number(values.samples); n += 1) {
    const session = await system.session({}, otherKey);
    times.push(await timed(async () => system.ended(await system.send(session, 'look', otherKey))));
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
  await limit.map(users, async (user) => {
    const session = await system.session({ user, mcp_servers: [mcp_server_id] });
    await system.send(session, `for ${user}`);
  });
  await until('all of them wait', async () => (await openWaits()) === USERS);
  await measure(`beside ${USERS} calls that wait`);

  const first = users.slice(0, SINGLE);
  for (const user of first) {
    await connect(user);
    await until(`the call of ${user}`, () => arrived([user]));
  }
  console.log(`one after the other, stored to sent: ${shown(first.map(latency))}`);
  const rest = users.slice(SINGLE);
  const took = await timed(async () => {
    await limit.map(rest, connect);
    await until('all calls', () => arrived(rest));
  });
  console.log(
    `${rest.length} at once, ${AT_ONCE} requests at a time, in ${Math.round(took)} ms, stored to sent: ${shown(rest.map(latency))}`,
  );
  await until('all turns end', async () => (await openTurns()) === 0);
  const wrong = calls.filter(({ user, token }) => token !== `token-of-${user}`).length;
  console.log(
    `${calls.length} calls of ${new Set(calls.map(({ user }) => user)).size} users, ${wrong} with another's credential`,
  );
} finally {
  await system.close();
}
