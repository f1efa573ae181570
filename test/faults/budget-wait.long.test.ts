import { expect } from 'chai';
import type { Turn } from '../support/fault-system.js';
import { budget, cost, PRICE, tokens } from '../support/money.js';
import { message, steps, text, toolUse } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';
import { requiredActions } from '../support/waiting-turns.js';

/** Everything dies while a turn waits for money (decisions.md "Money and models": a PATCH that was accepted is never lost). */
describe('a turn that waits for a larger budget', function () {
  this.timeout(180_000);
  const system = useFaultSystem({ price: PRICE, ownPostgres: true, ownTemporal: { persistent: true } });
  afterEach(() => system.model.reset());

  const required = async ({ sessionId }: Turn): Promise<unknown[]> =>
    (await system.insist('GET', `/v1/sessions/${sessionId}`)).body.required_actions;
  /** Its first call costs 0.3, the second one does not fit. */
  const waitingTurn = async (): Promise<Turn> => {
    system.model.on(/Spend/, steps(message([toolUse('list_files')], tokens(300)), message([text('done')], tokens(2))));
    const turn = await system.begin('Spend', { budget: budget('0.5', 'pause') });
    await requiredActions({ api: system.insist }, turn.sessionId);
    return turn;
  };
  const raise = async ({ sessionId }: Turn): Promise<void> => {
    const { status, body } = await system.insist('PATCH', `/v1/sessions/${sessionId}`, {
      budget: budget('1', 'pause'),
    });
    expect(status, JSON.stringify(body)).to.equal(200);
  };
  const expectPaidOnce = async (turn: Turn): Promise<void> => {
    await system.verify();
    const events = await system.history(turn.sessionId);
    expect(events.filter(({ type }) => type === 'agent.requires_action')).to.have.length(1);
    const end = events.at(-1)!;
    expect(end).to.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    expect(end.usage_details.cost).to.deep.equal(cost('0.302'));
    expect(system.model.requests).to.have.length(2);
  };

  it('a turn that waits for a larger budget survives kill -9 of every process, and makes each call once', async () => {
    const turn = await waitingTurn();
    await system.killEverything();
    expect(await required(turn)).to.have.length(1);
    await raise(turn);
    await expectPaidOnce(turn);
  });

  it('a turn that waits for a larger budget takes a budget that was raised while no worker was alive, and whose signal was lost', async () => {
    const turn = await waitingTurn();
    await system.workers[0]!.kill();
    await system.temporal!.kill();
    await raise(turn);
    await system.apis[0]!.kill();
    await system.temporal!.restart();
    await Promise.all([system.apis[0]!.start(), system.workers[0]!.start()]);
    await expectPaidOnce(turn);
  });
});
