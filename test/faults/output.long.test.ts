import { expect } from 'chai';
import { toolUse, wait, type Handler } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';

const SCHEMA = {
  type: 'object',
  properties: { late: { type: 'array', items: { type: 'integer' } } },
  required: ['late'],
};

/** decisions.md "Output schema": whatever dies, the turn gives one output, and a wrong value counts once. */
describe('a turn that gives an output while its worker dies', function () {
  this.timeout(180_000);
  const system = useFaultSystem();
  afterEach(() => system.model.reset());

  /** Two wrong values, then `last`; the worker is killed in the model call of each step. */
  const run = async (last: Record<string, unknown>) => {
    const gates = [0, 1, 2].map(() => system.model.gate());
    const asked = [0, 0, 0];
    const answer: Handler = ({ step }) => {
      asked[step]! += 1;
      const reply = toolUse('give_output', step < 2 ? { late: 'none' } : last);
      return asked[step] === 1 ? [wait(gates[step]!), reply] : [reply];
    };
    system.model.on(/Which are late/, answer);
    const sessionId = await system.session();
    const message = { content: 'Which are late?', output_schema: SCHEMA };
    const { status, body } = await system.insist('POST', `/v1/sessions/${sessionId}/messages`, message);
    expect(status, JSON.stringify(body)).to.equal(201);
    for (const gate of gates) {
      await gate.reached;
      await system.workers[0]!.kill();
      await system.workers[0]!.start();
    }
    const turn = { sessionId, turnId: body.turn_id as string };
    const end = await system.ended(turn);
    expect(
      asked.every((count) => count === 2),
      String(asked),
    ).to.equal(true);
    const events = await system.history(sessionId);
    expect(events.map(({ type }) => type)).to.deep.equal(['user.message', 'turn.completed']);
    return end;
  };

  it('a turn gives its output once, after two wrong values', async () => {
    expect(await run({ late: [4711] })).to.deep.include({ stop_reason: 'end_turn', output: { late: [4711] } });
  });

  it('a turn ends without an output after three wrong values', async () => {
    expect(await run({})).to.deep.include({ stop_reason: 'output_invalid', output: null });
  });
});
