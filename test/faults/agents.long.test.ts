import { expect } from 'chai';
import pLimit from 'p-limit';
import { RandomKiller } from '../support/random-killer.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';

const SESSIONS = 1000;
const OPEN_TURNS = 30;

/** One PATCH while sessions follow an agent (decisions.md "Agents"). */
describe('a thousand sessions that follow an agent', function () {
  this.timeout(1_500_000);
  const system = useFaultSystem({ apis: 2, workers: 2 });

  it('a thousand sessions that follow an agent have its new version from their next turn on, and no open turn changes, whatever is killed', async () => {
    const { model, db } = system;
    const limit = pLimit(8);
    const each = <T>(ids: readonly string[], work: (id: string) => Promise<T>): Promise<T[]> =>
      Promise.all(ids.map((id) => limit(() => work(id))));
    const made = await system.insist('POST', '/v1/agents', {
      ...{ name: 'order-desk', model_id: 'scripted', thinking_enabled: false, instruction: 'This is version one.' },
    });
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    const path = `/v1/agents/${made.body.id}`;
    const sessions = await each(Array.from({ length: SESSIONS }, String), async () => {
      const { body } = await system.insist('POST', '/v1/sessions', { agent: { id: made.body.id, version: 'live' } });
      return body.id as string;
    });

    const gate = model.gate();
    model.on(/Hold/, steps([text('Held.', { before: { 0: wait(gate) } }), toolUse('list_files')], 'Held.'));
    model.on(/Next/, 'Next.');
    const held = sessions.slice(0, OPEN_TURNS);
    const open = await each(held, (id) => system.send(id, 'Hold'));
    for (const turn of open) void system.watch(turn);
    await gate.reached;

    // The change writes to no session, however many follow.
    const rows = async (): Promise<unknown> =>
      db.query(
        `SELECT md5(string_agg(xmin::text || ctid::text, ' ' ORDER BY id)) AS rows, count(*)::integer AS count FROM sessions`,
      );
    const before = await rows();
    const changed = await system.insist('PATCH', path, { instruction: 'This is version two.' });
    expect(changed.body).to.include({ version: 2, live_version: 2 });
    expect(await rows()).to.deep.equal(before);

    const killer = new RandomKiller(new Map([...system.apis, ...system.workers].map((each) => [each, 1])));
    const next = Promise.all([
      each(held, async (id) => {
        const { status } = await system.insist('POST', `/v1/sessions/${id}/messages`, {
          content: 'Next',
          when_running: 'queue',
        });
        expect(status).to.equal(201);
      }),
      each(sessions.slice(OPEN_TURNS), (id) => system.send(id, 'Next')),
    ]);
    for (let times = 0; times < 4; times += 1) await killer.kill();
    gate.open();
    for (let times = 0; times < 4; times += 1) await killer.kill();
    await Promise.all([next, killer.allStarted()]);
    await system.verify(900_000);
    for (;;) {
      const [{ open: left, waiting }] = await db.query(
        'SELECT (SELECT count(*) FROM open_turns)::integer AS open, (SELECT count(*) FROM waiting_messages)::integer AS waiting',
      );
      if (left + waiting === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }

    const turns = await db.query<{ content: string; agent_version: number; state: string; turns: number }[]>(
      `SELECT data->>'content' AS content, agent_version, state, count(*)::integer AS turns
       FROM turns t JOIN events e ON e.session_id = t.session_id AND e.turn_number = t.number AND e.position = 1
       GROUP BY 1, 2, 3 ORDER BY 1`,
    );
    expect(turns).to.deep.equal([
      { content: 'Hold', agent_version: 1, state: 'completed', turns: OPEN_TURNS },
      { content: 'Next', agent_version: 2, state: 'completed', turns: SESSIONS },
    ]);
    // What the model got, also in calls that were made again after a kill.
    for (const { userText, body } of model.requests) {
      const version = userText.includes('Hold') ? 'This is version one.' : 'This is version two.';
      expect(JSON.stringify(body.system)).to.include(version);
    }
    expect(model.requests.length).to.be.at.least(2 * OPEN_TURNS + SESSIONS);
  });
});
