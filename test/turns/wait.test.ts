import { expect } from 'chai';
import { loadRunningMs } from '../../src/turns/running-time.js';
import { Notifier } from '../../src/stream/notify.js';
import { waitForTime } from '../../src/waits/time.js';
import { insertTurn, insertWait } from '../support/factories.js';
import { testLogger } from '../support/log.js';
import { eventually } from '../support/eventually.js';
import { sampleOf } from '../support/metrics.js';
import { reachedLimit } from '../support/rows.js';
import { message, steps, toolUse } from '../support/scripted-model.js';
import { expectAcceptedRequests, useTemporalClient, useTurnService } from '../support/use.js';
import { confirmation, customTool, sendAnswers } from '../support/waiting-turns.js';

/** decisions.md "An agent that waits": an agent that goes on after a time. */
describe('the tool wait', () => {
  const client = useTemporalClient();
  // Less than the longest wait: that one has its own limit.
  const config = { actionTimeoutSeconds: 60, maxSteps: 2 };
  const service = useTurnService({ own: 'gauges are read from the newest service of a process', config });
  expectAcceptedRequests(service);

  const wait = (seconds: number) => toolUse('wait', { seconds }, { id: 'toolu_1' });
  const session = (tools: object[] = [{ type: 'wait' }]): Promise<string> =>
    service.session({ thinking_enabled: false, tools });
  const waiting = async (seconds: number) => {
    service.model.on(/Go/, steps(wait(seconds), 'Done.'));
    const sessionId = await session();
    const turnId = await service.send(sessionId, 'Go');
    return { sessionId, turnId, event: await waitEvent(sessionId) };
  };
  /** `agent.wait`, once it is stored. */
  const waitEvent = (sessionId: string) => {
    let event: { until: string; created_at: string; tool_use_id: string } | undefined;
    return eventually('the agent waits', async () => {
      event = (await service.history(sessionId)).find(({ type }) => type === 'agent.wait');
      return event !== undefined;
    }).then(() => event!);
  };
  const resultOf = async (sessionId: string) =>
    (await service.history(sessionId)).find(({ type }) => type === 'agent.tool_result');
  const timelineOf = async (sessionId: string, turnId: string): Promise<Record<string, unknown>[]> =>
    (await service.api('GET', `/v1/sessions/${sessionId}/turns/${turnId}/timeline`)).body.items;

  it('the tool wait goes on by itself; nobody is asked, and the time of the turn does not run', async () => {
    const expiredBefore = await sampleOf(service, 'required_actions_closed_total{answer="expired"}');
    const { sessionId, turnId, event } = await waiting(1);
    const end = await service.ended(sessionId);
    expect(end).to.include({ type: 'turn.completed' });
    expect(event.tool_use_id).to.equal('toolu_1');
    expect(Date.parse(event.until) - Date.parse(event.created_at)).to.equal(1000);
    const events = await service.history(sessionId);
    expect(events.map(({ type }) => type as string)).to.deep.equal([
      'user.message',
      'agent.tool_use',
      'agent.wait',
      'agent.tool_result',
      'agent.message',
      'turn.completed',
    ]);
    const result = events[3];
    expect(result).to.include({ name: 'wait', is_error: false });
    const [, now] = /^Waited 1 s\. It is now (\S+)\.$/.exec(result.content as string)!;
    expect(Date.parse(now!)).to.be.at.least(Date.parse(event.until) - 1);
    expect(await sampleOf(service, 'required_actions_closed_total{answer="expired"}')).to.deep.equal(expiredBefore);
    expect(end.timing.waiting_ms).to.be.at.least(999);
    const [entry] = (await timelineOf(sessionId, turnId)).filter(({ type }) => type === 'wait');
    expect(entry).to.include({ name: 'wait', tool_use_id: 'toolu_1', status: 'ok', step: 1 });
    expect(entry).not.to.have.property('action');

    const copy = (await service.api('POST', `/v1/sessions/${sessionId}/fork`)).body;
    expect(copy.tools).to.deep.equal([{ type: 'wait' }]);
    const copied = await service.history(copy.id as string);
    expect(copied.map(({ type }) => type as string)).to.deep.equal(events.map(({ type }) => type as string));
    expect(copied[2]).to.include({ type: 'agent.wait', until: event.until });
    const shown = (await timelineOf(copy.id as string, copied[0].turn_id as string)).find(
      ({ type }) => type === 'wait',
    );
    expect(shown).to.deep.equal(entry);
  });

  it('the tool wait asks nobody for an action, holds no activity, and does not count as running time', async () => {
    const { sessionId, turnId, event } = await waiting(86_400);
    const { raw } = await client.workflow.getHandle(turnId).describe();
    expect(Number(raw.executionConfig!.workflowExecutionTimeout!.seconds)).to.be.above(2 * 86_400);
    await service.db.query("UPDATE waits SET asked_at = asked_at - interval '1 hour' WHERE turn_id = $1", [turnId]);
    await service.db.query(
      "UPDATE turns SET queued_at = queued_at - interval '1 hour', started_at = started_at - interval '1 hour' WHERE id = $1",
      [turnId],
    );
    expect(Date.parse(event.until) - Date.parse(event.created_at)).to.equal(86_400_000);
    expect(await loadRunningMs(service.db, turnId)).to.be.below(60_000);
    const [running] = await service.db.query<{ n: number }[]>(
      "SELECT count(*)::integer AS n FROM tool_calls WHERE turn_id = $1 AND state <> 'pending'",
      [turnId],
    );
    expect(running!.n).to.equal(0);
    const { body } = await service.api('GET', `/v1/sessions/${sessionId}`);
    expect(body).to.deep.include({ status: 'RUNNING', required_actions: [], waiting_since: null });
    const listed = async (value: boolean): Promise<string[]> =>
      (await service.api('GET', `/v1/sessions?requires_action=${value}`)).body.items.map(
        ({ id }: { id: string }) => id,
      );
    expect(await listed(true)).to.not.include(sessionId);
    expect(await listed(false)).to.include(sessionId);
    expect(await sampleOf(service, 'turns_waiting')).to.equal(0);
    const [entry] = (await timelineOf(sessionId, turnId)).filter(({ type }) => type === 'wait');
    expect(entry).to.include({ status: 'running', ended_at: null });
    expect((await service.api('POST', `/v1/sessions/${sessionId}/cancel`)).status).to.equal(200);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.cancelled' });
    expect(await resultOf(sessionId)).to.equal(undefined);
    const [closed] = (await timelineOf(sessionId, turnId)).filter(({ type }) => type === 'wait');
    expect(closed).to.include({ status: 'cancelled' });
  });

  it('the tool wait begins once for a call, however many attempts begin it, and names nothing else that is open', async () => {
    const sessionId = await session();
    const turnId = await insertTurn(service.db, sessionId, 'running');
    await insertWait(service.db, { turnId, sessionId, kind: 'elicitation', ask: { mode: 'url', message: 'Sign.' } });
    const log = testLogger();
    const deps = { db: service.db, log, notifier: new Notifier(service.db, log) };
    const call = { turnId, step: 1, index: 1, toolUseId: 'toolu_2' };
    await Promise.all([waitForTime(deps, call, 60), waitForTime(deps, call, 60)]);
    await waitForTime(deps, call, 60);
    expect((await service.history(sessionId)).map(({ type }) => type as string)).to.deep.equal(['agent.wait']);
  });

  it('the tool wait is ended early by a person, who may say why', async () => {
    for (const [answer, said] of [
      [confirmation('toolu_1', 'allow'), /^A person ended the wait early\. It is now \S+Z\.$/],
      [
        confirmation('toolu_1', 'deny', 'The job has failed.'),
        /early\. The person wrote: The job has failed\. It is now/,
      ],
      [confirmation('toolu_1', 'deny'), /early\. No reason was given\. It is now/],
    ] as const) {
      const { sessionId } = await waiting(86_400);
      const sent = await sendAnswers(service, sessionId, [answer]);
      expect(sent.status, JSON.stringify(sent.body)).to.equal(201);
      expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
      const result = await resultOf(sessionId);
      expect(result).to.include({ is_error: false });
      expect(result.content).to.match(said);
      const late = await sendAnswers(service, sessionId, [confirmation('toolu_1', 'deny', 'Too late.')]);
      expect([late.status, late.body.error.type]).to.deep.equal([409, 'tool_use_not_pending']);
    }
  });

  it('the tool wait refuses other times as an error of the tool', async () => {
    for (const seconds of [0, 86_401, 1.5]) {
      service.model.on(/Go/, steps(wait(seconds), 'Done.'));
      const sessionId = await session();
      await service.send(sessionId, 'Go');
      expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
      expect(await resultOf(sessionId)).to.include({ is_error: true });
      expect((await resultOf(sessionId)).content).to.match(/^Wrong input: input\/seconds must be/);
      expect((await service.history(sessionId)).map(({ type }) => type as string)).to.not.include('agent.wait');
    }
    // Waits of 1 s and of 86,400 s are accepted above.
    reachedLimit('wait: 1 to 86,400 s');
  });

  it('the tool wait of several calls in one step ends each at its own time, beside a call that a client answers', async () => {
    const uses = [
      toolUse('wait', { seconds: 1 }, { id: 'toolu_1' }),
      toolUse('wait', { seconds: 86_400 }, { id: 'toolu_2' }),
      toolUse('get_weather', { city: 'Rome' }, { id: 'toolu_3' }),
    ];
    service.model.on(/Go/, steps(message(uses), 'Done.'));
    const sessionId = await session([{ type: 'wait' }, customTool('get_weather')]);
    await service.send(sessionId, 'Go');
    await eventually('the first one is over', async () => (await resultOf(sessionId))?.tool_use_id === 'toolu_1');
    const { body } = await service.api('GET', `/v1/sessions/${sessionId}`);
    expect(body.required_actions.map(({ type }: { type: string }) => type)).to.deep.equal(['custom_tool_result']);
    const answers = [
      confirmation('toolu_2', 'allow'),
      { type: 'user.custom_tool_result', tool_use_id: 'toolu_3', content: 'Sun.' },
    ];
    expect((await sendAnswers(service, sessionId, answers)).status).to.equal(201);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const asked = (await service.history(sessionId)).filter(({ type }) => type === 'agent.requires_action');
    expect(asked).to.have.length(1);
  });

  it('the tool wait is for sessions that ask for it, once, and its name is theirs alone', async () => {
    const refusal = async (...tools: object[]) => {
      const { status, body } = await service.api('POST', '/v1/sessions', { model_id: 'scripted', tools });
      return [status, body.error?.details?.errors[0].path];
    };
    expect(await refusal({ type: 'wait' }, { type: 'wait' })).to.deep.equal([422, '/tools/1']);
    expect(await refusal(customTool('wait'), { type: 'wait' })).to.deep.equal([422, '/tools/0/name']);
    const sessionId = await session([customTool('wait')]);
    service.model.on(/Go/, 'Done.');
    await service.send(sessionId, 'Go');
    await service.ended(sessionId);
    const offered = service.model.requests[0]!.body.tools as { name: string; description: string }[];
    expect(offered.filter(({ name }) => name === 'wait').map(({ description }) => description)).to.deep.equal([
      'Does wait.',
    ]);
  });
});
