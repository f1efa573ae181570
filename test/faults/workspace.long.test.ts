import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually.js';
import { ALL_KILLABLE, type FaultSystem } from '../support/fault-system.js';
import { processesWith } from '../support/processes-with.js';
import { RandomKiller } from '../support/random-killer.js';
import { needSandbox } from '../support/sandbox.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';

const KILLS = Number(process.env.WORKSPACE_KILLS ?? 8);
const KILL_MS = 15_000;
const SETTLE_MS = 120_000;
const SESSIONS = 4;
/** A kill follows when the work has gone on since the last kill, or could not. */
const PACE = { maxSilenceMs: KILL_MS / 2, maxPauseMs: 1_000 };
/** How often Temporal or Postgres is killed, relative to a process of the service: everything waits for them. */
const SERVER_WEIGHT = 0.3;
const SANDBOXES = { SANDBOX_PROVIDER: 'bubblewrap', SANDBOX_MAX_COMMANDS: '4' };
/** In the command line of every command of these tests, and of no other process. */
const MARK = `: workspace-${process.pid};`;

/** A file of a workspace; empty if there is none. */
async function contentOf({ apis, key }: FaultSystem, session: string, path: string): Promise<string> {
  const url = `${apis[0]!.url}/v1/sessions/${session}/workspace/content?path=${encodeURIComponent(path)}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  return answer.status === 404 ? '' : answer.text();
}

const runsOf = (mark: string): number => processesWith(mark).length;

/** decisions.md "Workspace": a command counts once or not at all, whatever dies. */
describe('workspaces while everything is killed', () => {
  needSandbox();
  const system = useFaultSystem({ ...ALL_KILLABLE, env: SANDBOXES });

  it(`workspaces, with ${KILLS} kills at random: each command and delivery is there once, in order, and no process is left`, async function () {
    this.timeout(KILLS * KILL_MS + 5 * SETTLE_MS);
    // The file with the number is delivered; the log has the number of each command whose result is stored.
    system.model.on(/^append \d+/, (request, index) => {
      const n = /^append (\d+)/.exec(request.userText)![1]!;
      const append = `${MARK} echo ${n} >> log; sleep 0.2; echo ${n} > /mnt/session/outputs/${n}.txt`;
      return steps(toolUse('bash', { command: append }), 'Done.')(request, index);
    });
    const killer = RandomKiller.of(system, SERVER_WEIGHT);
    let turns = 0;
    const sessions = await Promise.all(
      Array.from({ length: SESSIONS }, () => system.session({ tools: [{ type: 'workspace' }] })),
    );
    const work = (goesOn: () => boolean) =>
      sessions.map(async (session) => {
        for (let n = 0; goesOn(); n += 1) {
          const turn = await system.send(session, `append ${n}`);
          turns += 1;
          await system.watch(turn);
        }
      });
    await killer.killDuring(KILLS, work, { ...PACE, progress: () => turns });
    const ends = await system.verify();
    expect(new Set(ends.map(({ type }) => type as string))).to.deep.equal(new Set(['turn.completed']));
    for (const session of sessions) {
      const history = await system.history(session);
      const results = history.filter(({ type }) => type === 'agent.tool_result');
      // After three lost workers a command gives up, and nothing of it is kept.
      const kept = results.flatMap(({ is_error }, n) => (is_error === true ? [] : [n]));
      expect(await contentOf(system, session, '/workspace/log')).to.equal(kept.map((n) => `${n}\n`).join(''));
      const delivered = history.flatMap((event) =>
        event.type === 'agent.file' ? [event.file.filename as string] : [],
      );
      expect(delivered).to.deep.equal(kept.map((n) => `${n}.txt`));
      const { body } = await system.insist('GET', `/v1/sessions/${session}`);
      expect(body.workspace).to.include({ version: kept.length, file_count: kept.length + 1 });
    }
    await eventually('no process of a command is left', () => runsOf(MARK) === 0, 2_000);
    console.log(`      ${killer.kills} kills, ${turns} turns`);
  });
});

const FORK_KILLS = Number(process.env.FORK_KILLS ?? 6);
const LINES = 3;
/** Of the last ended turns, one of which a fork copies last. */
const FORKED_FROM = 4;

/** What a line of work does with its next turn. */
const ways = ['append', 'ask', 'cancel', 'fork'] as const;

/** decisions.md "Workspace": what a tree has is what the results of its history say, in copies of the history too. */
describe('workspaces that are forked, wait and are cancelled while everything is killed', () => {
  needSandbox();
  const system = useFaultSystem({ ...ALL_KILLABLE, env: SANDBOXES });

  const tools = [{ type: 'workspace', configs: [{ name: 'write', permission_policy: { type: 'always_ask' } }] }];
  const sessions = new Set<string>();
  const insist = async (method: string, path: string, body?: object) => {
    const answer = await system.insist(method, path, body);
    expect(answer.status, JSON.stringify(answer.body)).to.be.within(200, 299);
    return answer.body;
  };
  const sessionOf = async (id: string) => insist('GET', `/v1/sessions/${id}`);

  /** Runs one turn of the way; returns the session in which the line goes on. */
  async function step(session: string, way: (typeof ways)[number], n: number): Promise<string> {
    if (way === 'fork') {
      const { items } = await insist('GET', `/v1/sessions/${session}/turns?limit=${FORKED_FROM}`);
      const turn = items[Math.floor(Math.random() * items.length)] as { id: string } | undefined;
      if (turn === undefined) return session;
      const fork = await insist('POST', `/v1/sessions/${session}/fork`, { after_turn_id: turn.id });
      // A fork keeps the tree of its last copied turn alone.
      const expected = (await sessionOf(session)).forked_from === null ? ['exact'] : ['exact', 'later'];
      expect(expected).to.include(fork.forked_from.workspace);
      if (fork.forked_from.workspace === 'later') return session;
      sessions.add(fork.id as string);
      return fork.id as string;
    }
    const turn = await system.send(session, `${way} ${n}`);
    const watched = system.watch(turn);
    if (way === 'cancel') {
      await sleep(Math.random() * 1_500);
      await system.insist('POST', `/v1/sessions/${session}/cancel`);
    }
    if (way === 'ask') {
      const isAsked = async () => {
        const { status, required_actions } = await sessionOf(session);
        return status !== 'RUNNING' || required_actions.length > 0;
      };
      await eventually('the turn asks', isAsked, SETTLE_MS);
      const [action] = (await sessionOf(session)).required_actions;
      if (action !== undefined) {
        const answer = { type: 'user.tool_confirmation', tool_use_id: action.tool_use_id, result: 'allow' };
        await insist('POST', `/v1/sessions/${session}/events`, { events: [answer] });
      }
    }
    await watched;
    return session;
  }

  it(`workspaces that are forked, wait and are cancelled, with ${FORK_KILLS} kills at random: each tree is what its history says, and nothing is left`, async function () {
    this.timeout(FORK_KILLS * KILL_MS + 8 * SETTLE_MS);
    const append = (n: string, seconds: number) =>
      toolUse('bash', { command: `${MARK} echo ${n} >> log; sleep ${seconds}; echo ${n} >> log2` });
    const replies: Record<(typeof ways)[number], (n: string) => Parameters<typeof steps>> = {
      append: (n) => [append(n, 0.2), 'Done.'],
      cancel: (n) => [append(n, 0.1), append(`${n}x`, 3), 'Done.'],
      ask: (n) => [[append(n, 0.1), toolUse('write', { file_path: `/workspace/asked-${n}`, content: n })], 'Done.'],
      fork: () => [],
    };
    for (const [way, reply] of Object.entries(replies))
      system.model.on(new RegExp(`^${way} \\d+$`), (request, index) =>
        steps(...reply(/\d+$/.exec(request.userText)![0]))(request, index),
      );
    const killer = RandomKiller.of(system, SERVER_WEIGHT);
    let turns = 0;
    const lines = (goesOn: () => boolean) =>
      Array.from({ length: LINES }, async (_, line) => {
        let session = await system.session({ tools });
        sessions.add(session);
        for (let n = 0; goesOn(); n += 1) {
          session = await step(session, ways[Math.floor(Math.random() * ways.length)]!, line * 10_000 + n);
          turns += 1;
        }
      });
    await killer.killDuring(FORK_KILLS, lines, { ...PACE, progress: () => turns });
    const ends = await system.verify();
    expect(ends.map(({ type }) => type as string)).to.not.include('turn.failed');
    let forks = 0;
    for (const session of sessions) {
      const history = await system.history(session);
      const inputs = new Map(
        history.flatMap((event) => (event.type === 'agent.tool_use' ? [[event.tool_use_id, event.input]] : [])),
      );
      const kept = history.filter(({ type, is_error }) => type === 'agent.tool_result' && is_error === false);
      const appended = kept.flatMap((event) =>
        event.name === 'bash' ? [/echo (\w+) >> log;/.exec(inputs.get(event.tool_use_id).command)![1]!] : [],
      );
      const asked = kept
        .filter(({ name }) => name === 'write')
        .map(({ tool_use_id }) => inputs.get(tool_use_id).content);
      const { workspace, forked_from } = await sessionOf(session);
      if (forked_from !== null) forks += 1;
      const where = `${session} ${JSON.stringify(forked_from)}`;
      expect(workspace.version, where).to.equal(kept.length);
      expect(
        kept.map((event) => event.workspace.version as number),
        where,
      ).to.deep.equal(kept.map((_, at) => at + 1));
      const log = appended.map((n) => `${n}\n`).join('');
      for (const path of ['/workspace/log', '/workspace/log2'])
        expect(await contentOf(system, session, path), where).to.equal(log);
      const { items } = await insist('GET', `/v1/sessions/${session}/workspace/files?limit=100`);
      const named = items.map(({ path }: { path: string }) => path).filter((path: string) => path.includes('asked-'));
      expect(named, where).to.have.members(asked.map((n) => `/workspace/asked-${n}`));
    }
    await eventually('no process of a command is left', () => runsOf(MARK) === 0, 2_000);
    console.log(`      ${killer.kills} kills, ${turns} steps, ${sessions.size} sessions, ${forks} forks`);
  });
});

describe('a worker that comes back to a command that another one ran', () => {
  needSandbox();
  const system = useFaultSystem({ workers: 0, env: SANDBOXES });

  it('a worker that comes back to a command that another one ran stores no second version and no second delivery', async () => {
    const { worker: frozen, proxy } = await system.addProxiedWorker();
    const mark = `${MARK} : frozen;`;
    const command = `${mark} echo line >> log; cp log /mnt/session/outputs/log; sleep 3`;
    system.model.on(/^work/, steps(toolUse('bash', { command }), 'Done.'));
    const turn = await system.begin('work', { tools: [{ type: 'workspace' }] });
    await eventually('the command runs', () => runsOf(mark) > 0);
    frozen.freeze();
    await proxy.close();
    await system.addRole('worker');
    await system.ended(turn);
    frozen.thaw();
    expect(await frozen.exited()).to.equal(1);
    await system.verify();
    const history = await system.history(turn.sessionId);
    const results = history.filter(({ type }) => type === 'agent.tool_result');
    expect(results.map((event) => event.workspace.version as number)).to.deep.equal([1]);
    expect(history.filter(({ type }) => type === 'agent.file')).to.have.length(1);
    const { body } = await system.insist('GET', `/v1/sessions/${turn.sessionId}`);
    // `log` and its copy.
    expect(body.workspace).to.include({ version: 1, size_bytes: 10, file_count: 2 });
    await eventually('no process of the command is left', () => runsOf(mark) === 0, 2_000);
  });
});
