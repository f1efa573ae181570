import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { markedColumns } from '../support/marked-tables.js';
import { RandomKiller } from '../support/random-killer.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';

type Json = Record<string, unknown>;

const KILLS = Number(process.env.MEMORY_KILLS ?? 10);
const SESSIONS = 8;
const ROUNDS = 6;
/** Commands of a turn: each in a step of its own, or all in one. */
const COMMANDS = 5;

/** docs/memory.md: a command counts once, whatever dies, and no update is lost. */
describe('memories while everything is killed', function () {
  this.timeout(600_000);
  const system = useFaultSystem({
    apis: 2,
    workers: 2,
    ownPostgres: true,
    ownTemporal: { persistent: true },
    env: { LOG_LEVEL: 'debug' },
  });

  it(`memories of one user, written by ${SESSIONS} sessions with ${KILLS} kills: every command once, no update lost, versions gapless, nothing left of what was erased`, async () => {
    const [user, mark] = [`user-${randomUUID()}`, `erased${randomUUID().replaceAll('-', '')}`];
    const shared = '/memories/user/shared.md';
    const { body: memory } = await system.insist('POST', '/v1/memories', { user });
    const files = `/v1/memories/${memory.id as string}/files`;
    const put = async (path: string, content: string): Promise<void> => {
      const { status } = await system.insist('POST', files, { path, content });
      expect(status).to.equal(201);
    };
    await put('/shared.md', 'begin\n');
    system.model.on(/^write \S+/, (request, index) => {
      const name = /^write (\S+)/.exec(request.userText)![1]!;
      const line = (n: number): Json =>
        n % 2 === 0
          ? { command: 'insert', path: shared, insert_line: 1, insert_text: `${name}.${n}` }
          : { command: 'str_replace', path: shared, old_str: 'begin\n', new_str: `begin\n${name}.${n}\n` };
      const calls = Array.from({ length: COMMANDS }, (_, n) => toolUse('memory', line(n)));
      const own = toolUse('memory', { command: 'create', path: `/memories/user/own/${name}`, file_text: name });
      // Half of the turns make their commands in one step.
      return (name.endsWith('0') ? steps([...calls, own], 'Done.') : steps(...calls, own, 'Done.'))(request, index);
    });
    const sessions = await Promise.all(
      Array.from({ length: SESSIONS }, () => system.session({ user, tools: [{ type: 'memory', of: 'user' }] })),
    );
    let ended = 0;
    const work = sessions.map(async (sessionId, number) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const turn = await system.send(sessionId, `write s${number}.${round}`);
        await system.ended(turn, 300_000);
        ended += 1;
      }
    });
    const erased = (async (): Promise<number> => {
      let count = 0;
      while (ended < SESSIONS * ROUNDS) {
        await put(`/secret-${mark}.md`, `${mark} ${count}`);
        await put(`/secret-${mark}.md`, `${mark} ${count} again`);
        const path = encodeURIComponent(`/secret-${mark}.md`);
        const { status } = await system.insist('DELETE', `${files}?path=${path}`);
        // The request before may have had its effect and lost its answer.
        expect(status).to.be.oneOf([204, 404]);
        count += 1;
        await sleep(200);
      }
      return count;
    })();
    const killer = RandomKiller.of(system, 0.2);
    while (killer.kills < KILLS && ended < SESSIONS * ROUNDS) {
      const before = ended;
      await killer.kill();
      const until = performance.now() + 5_000;
      while (ended === before && performance.now() < until) await sleep(50);
    }
    await killer.allStarted();
    await Promise.all(work);
    const rounds = await erased;
    expect(rounds).to.be.above(0);
    await system.verify(300_000);
    expect(killer.kills).to.be.above(2);

    const results = (await Promise.all(sessions.map((id) => system.history(id))))
      .flat()
      .filter(({ type }) => type === 'agent.tool_result') as Json[];
    expect(results).to.have.length(SESSIONS * ROUNDS * (COMMANDS + 1));
    const failed = results.filter(({ is_error }) => is_error === true);
    expect(failed.map(({ content }) => content)).to.deep.equal([]);
    const headers = { Authorization: `Bearer ${system.key}` };
    const url = `${system.apis[0]!.url}/v1/memories/${memory.id as string}/content?path=/shared.md`;
    const lines = (await (await fetch(url, { headers })).text()).split('\n').filter((line) => line !== '');
    const expected = sessions.flatMap((_, number) =>
      Array.from({ length: ROUNDS * COMMANDS }, (__, n) => `s${number}.${Math.floor(n / COMMANDS)}.${n % COMMANDS}`),
    );
    expect(lines.toSorted()).to.deep.equal(['begin', ...expected].toSorted());

    // Each change made one version: those of commands are all different, and requests made the others.
    const made = results.map(({ memory: version }) => (version as Json).version as number);
    expect(new Set(made).size).to.equal(made.length);
    const { body: now } = await system.insist('GET', `/v1/memories/${memory.id as string}`);
    const numbers = await system.db.query<{ version: number }[]>(
      'SELECT DISTINCT version FROM memory_versions WHERE memory_id = $1 ORDER BY version',
      [memory.id],
    );
    expect(now).to.include({ file_count: 1 + SESSIONS * ROUNDS });
    // Two texts were written and erased in each round.
    expect(now.version).to.equal(1 + made.length + 3 * rounds);
    expect(numbers.map(({ version }) => version)).to.deep.equal([1, ...made.toSorted((a, b) => a - b)]);
    const [gaps] = await system.db.query<{ wrong: number }[]>(
      `SELECT count(*)::integer AS wrong FROM memories m WHERE id = $1 AND (
         size_bytes <> (SELECT sum(size_bytes) FROM memory_files WHERE memory_id = m.id)
         OR version_count <> (SELECT count(*) FROM memory_versions WHERE memory_id = m.id)
         OR version_bytes <> (SELECT coalesce(sum(octet_length(text)), 0) FROM memory_versions WHERE memory_id = m.id))`,
      [memory.id],
    );
    expect(gaps!.wrong).to.equal(0);
    expect(await markedColumns(system.db, mark)).to.deep.equal([]);
    for (const each of [...system.apis, ...system.workers]) expect(each.log(), each.role).not.to.include(mark);
  });
});
