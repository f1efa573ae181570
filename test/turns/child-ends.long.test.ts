import { expect } from 'chai';
import { Notifier } from '../../src/stream/notify.js';
import { endTurn } from '../../src/turns/end.js';
import { requestCancel } from '../../src/turns/request-cancel.js';
import { agentTool, callAgent, createAgent } from '../support/child-agents.js';
import { eventually } from '../support/eventually.js';
import { testLogger } from '../support/log.js';
import { steps, text, wait } from '../support/scripted-model.js';
import { expectAcceptedRequests, useTemporalClient, useTurnService } from '../support/use.js';

/** decisions.md "Agents that call agents": a child turn is open only while its parent is, and the parent waits for no lost signal. */
describe('the ends of child turns', function () {
  this.timeout(120_000);
  const client = useTemporalClient();
  const service = useTurnService();
  expectAcceptedRequests(service);

  const begun = async (name: string) => {
    const gate = service.model.gate();
    const agentId = await createAgent(service, name);
    service.model.on(/Go/, steps(callAgent(name, 'Work.', 'toolu_1'), 'Done.'));
    service.model.on(/Work/, steps([text('Some'), wait(gate), text(' more.')]));
    const sessionId = await service.session({ thinking_enabled: false, tools: [agentTool(agentId)] });
    const turnId = await service.send(sessionId, 'Go');
    await gate.reached;
    const { child_session_id, child_turn_id } = (await service.history(sessionId)).find(
      ({ type }) => type === 'agent.delegated',
    );
    return { gate, sessionId, turnId, childId: child_session_id as string, childTurnId: child_turn_id as string };
  };
  const resultOf = async (sessionId: string) =>
    (await service.history(sessionId)).find(({ type }) => type === 'agent.tool_result');

  it('the ends of child turns come before that of a parent which an operator terminates', async () => {
    const { gate, sessionId, turnId, childId } = await begun('terminated');
    await client.workflow.getHandle(turnId).terminate('test');
    const end = await service.ended(sessionId);
    expect(end).to.deep.include({ type: 'turn.failed' });
    expect(end.error.type).to.equal('terminated');
    expect(end.usage_details.delegated.turns).to.equal(1);
    const ofChild = await service.ended(childId);
    expect(ofChild).to.include({ type: 'turn.cancelled' });
    expect(ofChild.created_at <= end.created_at).to.equal(true);
    gate.open();
  });

  it('the end of a child turn which an operator terminates is its own alone', async () => {
    const { gate, sessionId, childId, childTurnId } = await begun('child-terminated');
    await client.workflow.getHandle(childTurnId).terminate('test');
    expect((await service.ended(childId)).error.type).to.equal('terminated');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect((await resultOf(sessionId)).content).to.include('[stopped: terminated]');
    gate.open();
  });

  it('the ends of child turns follow a cancel of the parent whose process died before it reached them', async () => {
    const { gate, sessionId, turnId, childId } = await begun('orphan');
    const log = testLogger();
    await requestCancel({ db: service.db, log, notifier: new Notifier(service.db, log) }, turnId);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.cancelled' });
    expect(await service.ended(childId)).to.include({ type: 'turn.cancelled' });
    gate.open();
  });

  it('the end of a child turn of which no signal tells reaches the parent within seconds', async () => {
    const { gate, sessionId, childTurnId } = await begun('unheard');
    // As if the process had died between the commit and the signal: the parent did not know of it at its last look.
    await eventually('the parent waits', async () => {
      const [row] = await service.db.query<{ n: number }[]>(
        `SELECT count(*)::integer AS n FROM waits WHERE kind = 'child_turn' AND state = 'open' AND ask->>'child_turn_id' = $1`,
        [childTurnId],
      );
      return row!.n === 1;
    });
    const log = testLogger();
    const silent = { db: service.db, log, notifier: new Notifier(service.db, log) };
    await endTurn(silent, childTurnId, { kind: 'cancelled' });
    expect(await service.ended(sessionId, 15_000)).to.include({ type: 'turn.completed' });
    gate.open();
  });
});
