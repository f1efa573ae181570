import { expect } from 'chai';
import type { ApiResponse } from '../../support/client.js';
import { insertWaitingTurn, insertWait } from '../../support/factories.js';
import { reachedLimit } from '../../support/rows.js';
import { startService } from '../../support/service.js';
import { confirmation, customResult, sendAnswers } from '../../support/waiting-turns.js';
import { useService } from '../../support/use.js';

/** decisions.md "Person in the loop", "Answering", as far as it is decided before the workflow gets a signal. */
describe('answers to calls', () => {
  let sessionId: string;
  let turnId: string;
  const service = useService();

  const newSession = async (): Promise<string> =>
    (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string;
  /** A call of the waiting turn that is in this state. */
  const addCall = async (index: number, toolUseId: string, kind: string | null, state = 'open'): Promise<void> => {
    await service.db.query(
      `INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input) VALUES ($1, 1, $2, $3, 'tool', '{}')`,
      [turnId, index, toolUseId],
    );
    if (kind === null) return;
    await insertWait(service.db, { turnId, sessionId, index, toolUseId, kind, state });
  };
  beforeEach(async () => {
    sessionId = await newSession();
    turnId = await insertWaitingTurn(service.db, sessionId);
  });

  const send = (...events: object[]): Promise<ApiResponse> => sendAnswers(service, sessionId, events);
  const outcomeOf = ({ status, body }: ApiResponse): unknown[] => [status, body.error?.type ?? 'ok'];
  const pathOf = ({ body }: ApiResponse): string => body.error.details.errors[0].path as string;
  const stateOf = async (toolUseId: string): Promise<string> => {
    const [row]: { state: string }[] = await service.db.query(
      'SELECT coalesce(outcome, state) AS state FROM waits WHERE session_id = $1 AND tool_use_id = $2',
      [sessionId, toolUseId],
    );
    return row!.state;
  };

  it('answers to calls are from 1 to 50 events of the documented types', async () => {
    const allow = confirmation('toolu_1', 'allow');
    for (const [events, path] of [
      [[], '/events'],
      [Array(51).fill(allow), '/events'],
      [[{ ...allow, type: 'user.message' }], '/events/0/type'],
      [[{ ...allow, result: 'maybe' }], '/events/0/result'],
      [[{ type: 'user.tool_confirmation', tool_use_id: 'toolu_1' }], '/events/0/result'],
      [[{ ...allow, content: 'x' }], '/events/0/content'],
      [[confirmation('toolu_1', 'deny', 'x'.repeat(1001))], '/events/0/deny_message'],
      [[allow, confirmation('toolu_1', 'allow', 'no')], '/events/1/deny_message'],
      [[customResult('toolu_1', 'x'.repeat(100_001))], '/events/0/content'],
      [[{ type: 'user.custom_tool_result', tool_use_id: 'toolu_1' }], '/events/0/content'],
      [[{ ...customResult('toolu_1', ''), is_error: 'no' }], '/events/0/is_error'],
    ] as const) {
      const answer = await send(...events);
      expect(outcomeOf(answer), path).to.deep.equal([422, 'validation_error']);
      expect(pathOf(answer)).to.equal(path);
    }
    expect(outcomeOf(await send(...Array<object>(50).fill(allow)))).to.deep.equal([201, 'ok']);
    reachedLimit('answers: 50 events');
  });

  it('answers to calls count lengths in characters, at their bounds', async () => {
    await addCall(1, 'toolu_2', 'custom_tool_result');
    const content = '🦆'.repeat(100_000);
    const { body } = await send(confirmation('toolu_1', 'deny', '🦆'.repeat(1000)), customResult('toolu_2', content));
    expect(
      body.items.map((item: { deny_message?: string; content?: string }) => item.deny_message ?? item.content),
    ).to.deep.equal(['🦆'.repeat(1000), content]);
    reachedLimit('deny_message: 1,000 characters');
    reachedLimit('custom tool result: 100,000 characters');
  });

  it('answers to calls need approvals:write to allow or deny a call, and store nothing without it', async () => {
    await addCall(1, 'toolu_2', 'custom_tool_result');
    const key = await service.newKey({ scopes: ['sessions:write'] });
    const result = customResult('toolu_2', 'x');
    for (const events of [[confirmation('toolu_1', 'allow')], [result, confirmation('toolu_1', 'deny')]]) {
      const { status, body } = await sendAnswers({ api: service.as(key) }, sessionId, events);
      expect([status, body.error.type, body.error.details]).to.deep.equal([
        403,
        'insufficient_scope',
        { required: 'approvals:write' },
      ]);
    }
    expect((await sendAnswers({ api: service.as(key) }, sessionId, [result])).status).to.equal(201);
    const both = await service.newKey({ scopes: ['sessions:write', 'approvals:write'] });
    const allowed = await sendAnswers({ api: service.as(both) }, sessionId, [confirmation('toolu_1', 'allow')]);
    expect(allowed.status).to.equal(201);
  });

  it('answers to calls that wait for an authorization need no group to deny them, also if approvers allowed the call', async () => {
    const ask = { approvers: ['finance'] };
    await service.db.query('UPDATE waits SET ask = $1 WHERE turn_id = $2', [JSON.stringify(ask), turnId]);
    const refused = await send(confirmation('toolu_1', 'deny'));
    expect([refused.status, refused.body.error?.type, refused.body.error?.details]).to.deep.equal([
      ...[403, 'not_an_approver', ask],
    ]);
    await service.db.query(
      `UPDATE waits SET state = 'closed', outcome = 'allowed', closed_at = clock_timestamp() WHERE turn_id = $1`,
      [turnId],
    );
    await insertWait(service.db, {
      ...{ turnId, sessionId, kind: 'mcp_authorization' },
      ask: { mcp_server_id: 'mcp_1', end_user: 'ann' },
    });
    expect((await send(confirmation('toolu_1', 'deny'))).status).to.equal(201);
  });

  it('answers to calls have the actor that was given', async () => {
    await addCall(1, 'toolu_2', 'custom_tool_result');
    await addCall(2, 'toolu_3', 'custom_tool_result');
    const allow = confirmation('toolu_1', 'allow');
    const result = customResult('toolu_2', 'x');
    const actor = '🦆'.repeat(128);
    for (const wrong of ['', `${actor}🦆`, null, 7, 'a\0b']) {
      for (const event of [allow, result]) {
        const answer = await send({ ...event, actor: wrong });
        expect([...outcomeOf(answer), pathOf(answer)]).to.deep.equal([422, 'validation_error', '/events/0/actor']);
      }
    }
    reachedLimit('actor: 128 characters');
    const first = await send({ ...allow, actor }, { ...result, actor: 'Ada' }, customResult('toolu_3', 'x'));
    expect(first.body.items.map((event: { actor: unknown }) => event.actor)).to.deep.equal([actor, 'Ada', null]);
    for (const other of [{}, { actor: 'Bob' }]) {
      const again = await send({ ...allow, ...other }, { ...result, ...other }, { ...allow, actor: 'Eve' });
      expect(again.status).to.equal(201);
      const [allowed, answered] = first.body.items as unknown[];
      expect(again.body.items).to.deep.equal([allowed, answered, allowed]);
    }
    const { body } = await service.api('GET', `/v1/sessions/${sessionId}/events?types=user.tool_confirmation`);
    expect(body.items).to.deep.equal([first.body.items[0]]);
  });

  it('answers to calls must fit the call', async () => {
    await addCall(1, 'toolu_2', 'custom_tool_result');
    await addCall(2, 'toolu_3', null);
    for (const event of [
      customResult('toolu_1', 'x'),
      confirmation('toolu_2', 'allow'),
      customResult('toolu_3', 'x'),
    ]) {
      const answer = await send(event);
      expect(outcomeOf(answer)).to.deep.equal([422, 'validation_error']);
      expect(pathOf(answer)).to.equal('/events/0/type');
    }
  });

  it('answers to calls are for calls of the session that wait', async () => {
    await addCall(1, 'toolu_2', null);
    await addCall(2, 'toolu_3', 'tool_confirmation', 'planned');
    await addCall(3, 'toolu_4', 'tool_confirmation', 'expired');
    const missing = await send(
      confirmation('toolu_1', 'allow'),
      confirmation('none', 'allow'),
      customResult('nil', ''),
    );
    expect(outcomeOf(missing)).to.deep.equal([404, 'tool_use_not_found']);
    expect(missing.body.error.details).to.deep.equal({ tool_use_ids: ['none', 'nil'] });
    for (const [id, state] of [
      ['toolu_2', 'not_required'],
      ['toolu_3', 'not_asked'],
      ['toolu_4', 'expired'],
    ]) {
      const answer = await send(confirmation('toolu_1', 'allow'), confirmation(id!, 'allow'));
      expect(outcomeOf(answer)).to.deep.equal([409, 'tool_use_not_pending']);
      expect(answer.body.error.details).to.deep.equal({ tool_use_id: id, state });
      expect(answer.headers.get('x-should-retry')).to.equal('false');
    }
    expect(await stateOf('toolu_1'), 'all or nothing').to.equal('open');
  });

  it('answers to calls are not found in another session', async () => {
    const answer = await sendAnswers(service, await newSession(), [confirmation('toolu_1', 'allow')]);
    expect(outcomeOf(answer)).to.deep.equal([404, 'tool_use_not_found']);
  });

  it('answers to calls that are repeated return the stored event, also in a batch and after the turn', async () => {
    await addCall(1, 'toolu_2', 'custom_tool_result');
    const deny = confirmation('toolu_1', 'deny', 'No.');
    const first = await send(deny);
    expect(first.status).to.equal(201);
    expect((await send(deny)).body).to.deep.equal(first.body);
    const both = await send(deny, customResult('toolu_2', 'x'), deny, customResult('toolu_2', 'x', false));
    expect(both.body.items.map(({ tool_use_id }: { tool_use_id: string }) => tool_use_id)).to.deep.equal([
      'toolu_1',
      'toolu_2',
      'toolu_1',
      'toolu_2',
    ]);
    expect(both.body.items[0]).to.deep.equal(first.body.items[0]);
    expect(both.body.items[3]).to.deep.equal(both.body.items[1]);
    await service.db.query("UPDATE turns SET state = 'completed' WHERE id = $1", [turnId]);
    expect((await send(deny)).body).to.deep.equal(first.body);
    for (const different of [confirmation('toolu_1', 'deny'), confirmation('toolu_1', 'allow')]) {
      const answer = await send(different);
      expect([...outcomeOf(answer), answer.body.error.details.state]).to.deep.equal([
        409,
        'tool_use_not_pending',
        'denied',
      ]);
    }
    const { body } = await service.api('GET', `/v1/sessions/${sessionId}/events`);
    expect(body.items.filter(({ type }: { type: string }) => type.startsWith('user.'))).to.have.length(2);
  });

  it('answers to calls that contradict each other in one request are all refused', async () => {
    const answer = await send(confirmation('toolu_1', 'allow'), confirmation('toolu_1', 'deny'));
    expect([...outcomeOf(answer), answer.body.error.details.state]).to.deep.equal([
      409,
      'tool_use_not_pending',
      'allowed',
    ]);
    expect(await stateOf('toolu_1')).to.equal('open');
  });

  it('answers to calls that arrive in parallel: the first one counts', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => send(confirmation('toolu_1', 'deny', `Reason ${n}.`))),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, ...Array<number>(7).fill(409)]);
    const same = await Promise.all(Array.from({ length: 8 }, () => send(confirmation('toolu_1', 'allow'))));
    expect(same.every(({ status }) => status === 409)).to.equal(true);
  });

  it('answers to calls that come with a cancel are stored before it, or refused', async () => {
    const [answer] = await Promise.all([
      send(confirmation('toolu_1', 'allow')),
      service.api('POST', `/v1/sessions/${sessionId}/cancel`),
    ]);
    expect(answer.status).to.be.oneOf([201, 409]);
    const late = await send(confirmation('toolu_1', 'deny'));
    expect([late.status, late.body.error.details.state]).to.deep.equal([
      409,
      answer.status === 201 ? 'allowed' : 'cancelled',
    ]);
  });

  it('answers to calls leave the other calls open, and name them again', async () => {
    await addCall(1, 'toolu_2', 'custom_tool_result');
    await addCall(2, 'toolu_3', 'custom_tool_result');
    const { required_actions } = (await service.api('GET', `/v1/sessions/${sessionId}`)).body;
    await send(customResult('toolu_2', 'x'));
    const { body } = await service.api('GET', `/v1/sessions/${sessionId}/events`);
    expect(body.items.at(-1)).to.deep.include({
      type: 'agent.requires_action',
      required_actions: [required_actions[0], required_actions[2]],
    });
    expect((await service.api('GET', `/v1/sessions/${sessionId}`)).body.required_actions).to.deep.equal([
      required_actions[0],
      required_actions[2],
    ]);
  });

  it('answers to calls share the rate limit of messages', async () => {
    const few = await startService({ config: { rateLimitPerMinute: 2 } });
    const id = (await few.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string;
    await few.api('POST', `/v1/sessions/${id}/messages`, { content: 'Hello' });
    const second = await sendAnswers(few, id, [confirmation('toolu_1', 'allow')]);
    expect(second.headers.get('ratelimit-remaining')).to.equal('0');
    const third = await few.api('POST', `/v1/sessions/${id}/messages`, { content: 'Hello' });
    expect(outcomeOf(third)).to.deep.equal([429, 'rate_limit_exceeded']);
    await few.close();
  });
});
