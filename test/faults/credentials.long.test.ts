import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { ALL_KILLABLE } from '../support/fault-system.js';
import { tokenGateway } from '../support/mcp-server.js';
import { RandomKiller } from '../support/random-killer.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { useFaultSystem, useOauthPair } from '../support/use.js';

const KILLS = Number(process.env.CREDENTIAL_KILLS ?? 10);
/** The limit of a busy machine. */
const KILL_MS = 15_000;
const SETTLE_MS = 120_000;
const SESSIONS_OF_A_USER = 2;
/** The longest pause between two changes of a user's credentials, and before a kill. */
const MAX_PAUSE_MS = 1_000;
const SERVER_WEIGHT = 0.3;
const USERS = ['ann', 'bob'] as const;
type User = (typeof USERS)[number];

/**
 * decisions.md "User credentials": two users of two servers connect, are refused, expire and disconnect while their turns run and processes die. What
 * the servers saw decides.
 */
describe('credentials of users while everything is killed', () => {
  const pair = useOauthPair([{ name: 'echo' }]);
  const system = useFaultSystem(() => ({
    ...ALL_KILLABLE,
    allowedHosts: pair.hosts,
    // The address of the callback is the same for each API.
    env: { PUBLIC_URL: 'http://127.0.0.1:9' },
  }));
  /** The tokens of the server that knows its users by tokens, each with its user. */
  const owners = new Map<string, User>();
  const refused = new Set<string>();
  const tokenCalls: { login: User; arguments: { n: number } }[] = [];
  const ids = { notes: '', guarded: '' };
  before(async () => {
    system.mcp.options.tools = [{ name: 'read' }];
    system.mcp.options.gateway = tokenGateway(
      (token) => token === 'own' || (owners.has(token) && !refused.has(token)),
      (token, { n }) => tokenCalls.push({ login: owners.get(token)!, arguments: { n: n as number } }),
    );
    const own = { auth: { type: 'BEARER', token: 'own' }, credentials: 'user' };
    ids.notes = await system.registerMcp('notes', own);
    const guarded = { url: pair.mcp.url, auth: { type: 'OAUTH' }, credentials: 'user' };
    ids.guarded = await system.registerMcp('guarded', guarded);
  });

  let made = 0;
  const connect = async (user: User): Promise<void> => {
    made += 1;
    const token = `token-${made}-of-${user}`;
    owners.set(token, user);
    const body = { mcp_server_id: ids.notes, user, auth: { type: 'BEARER', token } };
    expect((await system.insist('POST', '/v1/credentials', body)).status).to.equal(201);
  };
  const credential = async (user: User, serverId: string): Promise<{ id: string } | undefined> =>
    (await system.insist('GET', `/v1/credentials?user=${user}&mcp_server_id=${serverId}`)).body.items[0];
  const disconnect = async (user: User, serverId: string): Promise<void> => {
    const found = await credential(user, serverId);
    if (found !== undefined) await system.insist('DELETE', `/v1/credentials/${found.id}`);
  };
  /** The person goes again if the service or its callback was away. */
  const authorize = async (user: User): Promise<void> => {
    for (;;) {
      const body = { mcp_server_id: ids.guarded, user, auth: { type: 'OAUTH' } };
      const stored = await system.insist('POST', '/v1/credentials', body);
      if (stored.status !== 201) continue;
      const { pathname, search } = await pair.consent(stored.body.auth.authorization_url, user);
      const answer = await fetch(`${system.apis[0]!.url}${pathname}${search}`).catch(() => null);
      if (answer?.status === 200) return;
      await sleep(100);
    }
  };
  const tokensOf = (user: User): string[] => [...owners].flatMap(([token, owner]) => (owner === user ? [token] : []));
  const changes: Record<string, (user: User) => Promise<unknown>> = {
    connect,
    authorize,
    'the server refuses the tokens': async (user) => tokensOf(user).forEach((token) => refused.add(token)),
    'the access tokens expire': async () => pair.shown.forEach((token) => pair.rejected.add(token)),
    'the credential is deleted': (user) => disconnect(user, ids.notes),
    'the authorization is deleted': (user) => disconnect(user, ids.guarded),
    'the user is erased': (user) => system.insist('DELETE', `/v1/credentials?user=${user}`),
  };

  it(`with ${KILLS} kills at random no call is made as another user, none twice, and none is lost`, async function () {
    this.timeout(KILLS * KILL_MS + 5 * SETTLE_MS);
    // The first authorization lists the tools of its server.
    for (const user of USERS) await Promise.all([connect(user), authorize(user)]);
    system.model.on(/^call \d+/, (request, index) => {
      const n = Number(/^call (\d+)/.exec(request.userText)![1]);
      const uses = ['mcp__notes__read', 'mcp__guarded__echo'].map((name) => toolUse(name, { n }));
      return steps([uses[0]!, uses[1]!], 'Done.')(request, index);
    });
    const killer = RandomKiller.of(system, SERVER_WEIGHT);
    const callers: User[] = [];
    const talk = async (user: User, goesOn: () => boolean): Promise<void> => {
      const session = await system.session({ user, mcp_servers: [ids.notes, ids.guarded] });
      while (goesOn()) {
        const n = callers.push(user) - 1;
        const turn = await system.send(session, `call ${n}`);
        // A stream that is opened after the turn's end would show the next turn.
        await system.watch(turn);
      }
    };
    const done: string[] = [];
    const change = async (user: User, goesOn: () => boolean): Promise<void> => {
      while (goesOn()) {
        const names = Object.keys(changes);
        const name = names[Math.floor(Math.random() * names.length)]!;
        await changes[name]!(user);
        done.push(name);
        await sleep(Math.random() * MAX_PAUSE_MS);
        // A waiting call goes on, so that turns end between the changes.
        if (Math.random() < 0.5) await Promise.all([connect(user), authorize(user)]);
      }
      await Promise.all([connect(user), authorize(user)]);
    };
    const work = (goesOn: () => boolean) =>
      USERS.flatMap((user) => [
        change(user, goesOn),
        ...Array.from({ length: SESSIONS_OF_A_USER }, () => talk(user, goesOn)),
      ]);
    const pace = { progress: () => callers.length, maxSilenceMs: KILL_MS / 2, maxPauseMs: MAX_PAUSE_MS };
    await killer.killDuring(KILLS, work, pace);
    const ends = await system.verify();
    expect(new Set(ends.map(({ type }) => type))).to.deep.equal(new Set(['turn.completed']));
    for (const calls of [tokenCalls, pair.calls]) {
      const numbers = calls.map(({ arguments: { n } }) => n as number);
      expect(new Set(numbers).size, 'calls that ran twice').to.equal(numbers.length);
      for (const { login, arguments: args } of calls)
        expect(login, `call ${args.n}`).to.equal(callers[args.n as number]);
    }
    const tables = await system.db.query<{ row: string }[]>(
      'SELECT data::text AS row FROM events UNION ALL SELECT last_error FROM user_credentials',
    );
    const shown = tables.map(({ row }) => row).join('\n');
    for (const secret of [...owners.keys(), ...pair.shown]) expect(shown).not.to.include(secret);
    const [{ waits }] = await system.db.query<[{ waits: number }]>('SELECT count(*)::integer AS waits FROM waits');
    console.log(
      `      ${killer.kills} kills, ${done.length} changes, ${callers.length} turns, ${waits} waits, ` +
        `${tokenCalls.length} and ${pair.calls.length} calls`,
    );
  });
});
