import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { failureOf } from '../support/failure.js';
import { transaction } from '../../src/db/transaction.js';
import { createTurnWorkflows, type TurnWorkflows } from '../../src/temporal/turn-workflows.js';
import { activityCompleted } from '../support/turn-workflow.js';
import { message, silence, steps, text, thinking, toolUse, wait } from '../support/scripted-model.js';
import { expectAcceptedRequests, useTemporalClient, useTurnService } from '../support/use.js';

const RUNS = 20;

/** docs/interface.md "The status of a session"; decisions.md "Turns and events", "After cancel". */
describe('cancel', () => {
  const temporal = useTemporalClient();
  const service = useTurnService();
  expectAcceptedRequests(service);

  const cancel = (sessionId: string) => service.api('POST', `/v1/sessions/${sessionId}/cancel`);
  const statusOf = async (sessionId: string): Promise<string> =>
    (await service.api('GET', `/v1/sessions/${sessionId}`)).body.status as string;
  /** A turn whose model has streamed "One two " and waits. */
  const streaming = async () => {
    const usage = { input_tokens: 321, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const gate = service.model.gate();
    service.model.reply(
      message([thinking('Well. '), text('One two three.', { every: 0, before: { 2: wait(gate) } })], { usage }),
    );
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'Count');
    await gate.reached;
    return { sessionId, turnId, request: service.model.requests.at(-1)! };
  };

  /** A turn whose model finishes when a cancel was requested of which Temporal does not know. */
  const cancelledBeforeTemporal = async () => {
    const gate = service.model.gate();
    service.model.reply([text('All said.'), wait(gate)]);
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'Go');
    await gate.reached;
    await service.db.query('UPDATE turns SET cancel_requested_at = clock_timestamp() WHERE id = $1', [turnId]);
    gate.open();
    return { sessionId, turnId };
  };

  it('cancel does not change an idle session', async () => {
    const sessionId = await service.session();
    const { status, body } = await cancel(sessionId);
    expect(status).to.equal(200);
    expect(body).to.deep.equal((await service.api('GET', `/v1/sessions/${sessionId}`)).body);
    expect(body.status).to.equal('IDLE');
  });

  it('cancel does not change a session whose turn has ended, even if repeated', async () => {
    const sessionId = await service.session();
    await service.send(sessionId, 'Hello');
    await service.ended(sessionId);
    for (let time = 0; time < 3; time += 1) expect((await cancel(sessionId)).body.status).to.equal('COMPLETE');
    expect((await service.history(sessionId)).map(({ type }) => type)).to.deep.equal([
      'user.message',
      'agent.message',
      'turn.completed',
    ]);
  });

  it('cancel stores the streamed text, aborts the model call, and reports the usage', async () => {
    const { sessionId, turnId, request } = await streaming();
    const stream = await service.stream(sessionId);
    await stream.until(({ data }) => String(data.content).endsWith(' two'));
    const { status, body } = await cancel(sessionId);
    expect(status).to.equal(200);
    expect(body).to.include({ id: sessionId, last_turn_id: turnId });
    expect(body.status).to.equal('RUNNING');
    await request.aborted;
    await stream.ended;
    const events = await service.history(sessionId);
    expect(events.map(({ type }) => type)).to.deep.equal(['user.message', 'agent.message', 'turn.cancelled']);
    const deltas = stream.frames.filter(({ event }) => event === 'agent.message.delta').map(({ data }) => data);
    expect(events[1]).to.include({
      content: deltas.map(({ content }) => content as string).join(''),
      message_id: deltas[0]!.message_id,
      incomplete: true,
    });
    expect(events[1].content).to.equal('One two');
    expect(events[2].usage.input_tokens).to.equal(321);
    expect(events[2].usage_details.model_calls).to.equal(1);
    expect(events[2].timing.model_ms).to.be.a('number');
    expect(events[2].timing.tools_ms).to.equal(null);
    expect(await statusOf(sessionId)).to.equal('CANCELLED');
  });

  it('cancel answers RUNNING for a running turn, also if the turn ends before the session is read for the answer', async () => {
    const gate = service.model.gate();
    service.model.reply([text('All said.'), wait(gate)]);
    const sessionId = await service.session();
    await service.send(sessionId, 'Go');
    await gate.reached;
    const isOpen = (): Promise<unknown[]> => service.db.query('SELECT FROM open_turns');
    const waiting = (): Promise<unknown[]> =>
      service.db.query(`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
    let answer: ReturnType<typeof cancel> | undefined;
    await transaction(service.db, async (tx) => {
      // Only the answer reads this table.
      await tx.query('LOCK TABLE workspaces IN ACCESS EXCLUSIVE MODE');
      answer = cancel(sessionId);
      await eventually('the session is being read', async () => (await waiting()).length > 0);
      gate.open();
      await eventually(
        'the turn has ended, or its end waits for the answer',
        async () => (await isOpen()).length === 0 || (await waiting()).length > 1,
      );
    });
    expect((await answer!).body).to.include({ id: sessionId, status: 'RUNNING' });
    expect(await service.ended(sessionId)).to.include({ type: 'turn.cancelled' });
    expect((await cancel(sessionId)).body.status).to.equal('CANCELLED');
  });

  it('cancel wins when the model finishes before its call is aborted', async () => {
    const { sessionId } = await cancelledBeforeTemporal();
    const end = await service.ended(sessionId);
    expect(end).to.include({ type: 'turn.cancelled' });
    const said = (await service.history(sessionId)).find(({ type }) => type === 'agent.message');
    expect(said).to.include({ content: 'All said.' }).and.not.have.property('incomplete');
    expect(await statusOf(sessionId)).to.equal('CANCELLED');
  });

  it('cancel may be repeated while the turn stops', async () => {
    const { sessionId } = await streaming();
    const answers = await Promise.all(Array.from({ length: 5 }, () => cancel(sessionId)));
    for (const { status } of answers) expect(status).to.equal(200);
    await service.ended(sessionId);
    const ends = (await service.history(sessionId)).filter(({ type }) => type.startsWith('turn.'));
    expect(ends.map(({ type }) => type)).to.deep.equal(['turn.cancelled']);
  });

  it('cancel does not store thinking that was cut off', async () => {
    const gate = service.model.gate();
    service.model.reply(message([thinking('I wonder whether', { every: 0, before: { 2: wait(gate) } }), text('x')]));
    const sessionId = await service.session();
    await service.send(sessionId, 'Think');
    await gate.reached;
    await cancel(sessionId);
    await service.ended(sessionId);
    expect((await service.history(sessionId)).map(({ type }) => type)).to.deep.equal([
      'user.message',
      'turn.cancelled',
    ]);
  });

  it('cancel aborts a call that the model has not answered at all', async () => {
    service.model.reply([wait(600_000), text('never')]);
    const sessionId = await service.session();
    await service.send(sessionId, 'Hang');
    const request = await service.model.request(0);
    await cancel(sessionId);
    await request.aborted;
    expect(await service.ended(sessionId)).to.include({ type: 'turn.cancelled' });
  });

  it("cancel keeps finished steps, and the next turn's request is valid", async () => {
    const { model } = service;
    model.on(
      /First/,
      steps([text('Looking.'), toolUse('list_files', {}, { id: 'toolu_kept' })], [text('Half a'), silence()]),
    );
    const sessionId = await service.session({ thinking_enabled: false });
    await service.send(sessionId, 'First');
    const stream = await service.stream(sessionId);
    await stream.until(({ data }) => String(data.content).endsWith(' a'));
    await cancel(sessionId);
    await stream.ended;
    expect((await service.history(sessionId)).map(({ type }) => type)).to.deep.equal([
      'user.message',
      'agent.message',
      'agent.tool_use',
      'agent.tool_result',
      'agent.message',
      'turn.cancelled',
    ]);
    await service.send(sessionId, 'Second');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const sent = JSON.stringify(model.requests.at(-1)!.body.messages);
    expect(sent).to.match(/First.*Looking\..*toolu_kept.*Half a.*was cancelled by the user.*Second/);
  });

  it('cancel from Temporal is the same', async () => {
    const { sessionId, turnId } = await streaming();
    await temporal.workflow.getHandle(turnId).cancel();
    const end = await service.ended(sessionId);
    expect(end).to.include({ type: 'turn.cancelled' });
    expect(end.usage.input_tokens).to.equal(321);
    expect(await statusOf(sessionId)).to.equal('CANCELLED');
  });

  it('cancel shows as Canceled in Temporal', async () => {
    const { sessionId, turnId } = await streaming();
    await cancel(sessionId);
    await service.ended(sessionId);
    const outcome = await temporal.workflow
      .getHandle(turnId)
      .result()
      .catch((error: Error) => error.message);
    expect(outcome).to.match(/cancelled/i);
    expect((await temporal.workflow.getHandle(turnId).describe()).status.name).to.equal('CANCELLED');
  });

  it('cancel shows as Canceled in Temporal, also if the turn ends before Temporal gets the request', async () => {
    const { sessionId, turnId } = await cancelledBeforeTemporal();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.cancelled' });
    await activityCompleted(temporal, turnId);
    await temporal.workflow.getHandle(turnId).cancel();
    await failureOf(temporal.workflow.getHandle(turnId).result());
    expect((await temporal.workflow.getHandle(turnId).describe()).status.name).to.equal('CANCELLED');
  });

  it('a turn that is terminated from Temporal fails as terminated', async () => {
    const { sessionId, turnId, request } = await streaming();
    // What the model reported is stored with the first batch of deltas.
    await eventually('the usage', async () => {
      const [call] = await service.db.query<[{ usage: { input_tokens: number } | null }]>(
        'SELECT usage FROM model_calls WHERE turn_id = $1',
        [turnId],
      );
      return call.usage?.input_tokens === 321;
    });
    await temporal.workflow.getHandle(turnId).terminate('by hand');
    const end = await service.ended(sessionId);
    expect(end).to.include({ type: 'turn.failed' });
    expect(end.error).to.include({ type: 'terminated' });
    expect(end.usage.input_tokens).to.equal(321);
    await request.aborted;
    expect(await statusOf(sessionId)).to.equal('FAILED');
  });

  const workflows = (): TurnWorkflows =>
    createTurnWorkflows(temporal, {
      ...{ taskQueue: service.config.taskQueue, executionTimeoutMs: () => 1, maxSteps: 1, turnTimeoutMs: 1 },
      ...{ eager: false, searchable: () => false },
    });

  it('cancel leaves nothing for the reconciler to read, which reads the turns of other workflows that ended', async () => {
    const cancelled = await streaming();
    await cancel(cancelled.sessionId);
    const isShown = (): Promise<boolean> =>
      temporal.workflow
        .count(`WorkflowId = '${cancelled.turnId}' AND ExecutionStatus = 'Canceled'`)
        .then(({ count }) => count === 1);
    await eventually('Temporal lists it', isShown);
    const terminated = await streaming();
    await temporal.workflow.getHandle(terminated.turnId).terminate('by hand');
    await service.ended(terminated.sessionId);
    const listed = await workflows().listFailed(new Date(Date.now() - 60_000));
    expect(listed).to.include(terminated.turnId).and.not.include(cancelled.turnId);
  });

  it('cancel by the reconciler of workflows whose turns have ended reads those that run page by page, the newest first', async () => {
    const turns = [await streaming(), await streaming(), await streaming()];
    const ids = turns.map(({ turnId }) => turnId).toReversed();
    const ended = await streaming();
    await cancel(ended.sessionId);
    const listed = async (most: number): Promise<string[]> => {
      const all: string[] = [];
      for (let before: Date | null = new Date(); before !== null;) {
        const page: Awaited<ReturnType<TurnWorkflows['listRunning']>> = await workflows().listRunning(before, most);
        expect(page.turnIds.length).to.be.at.most(most);
        all.push(...page.turnIds);
        before = page.next;
      }
      return [...new Set(all)].filter((id) => ids.includes(id) || id === ended.turnId);
    };
    await eventually('Temporal lists them', async () => (await listed(1000)).join() === ids.join());
    expect(await listed(2)).to.deep.equal(ids);
    for (const { sessionId } of turns) await cancel(sessionId);
  });

  it(`cancel is quick: ${RUNS} runs`, async () => {
    const took: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      const { sessionId } = await streaming();
      const stream = await service.stream(sessionId);
      const before = performance.now();
      await cancel(sessionId);
      const end = await stream.until(({ event }) => event === 'turn.cancelled');
      took.push(end.at - before);
      service.model.reset();
    }
    took.sort((a, b) => a - b);
    const at = (share: number): number => Math.round(took[Math.ceil(share * RUNS) - 1]!);
    console.log(`      POST cancel → turn.cancelled: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, max ${at(1)} ms`);
    expect(at(1)).to.be.lessThan(20_000);
  });
});
