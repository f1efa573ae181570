import { expect } from 'chai';
import { agentTool, callAgent, createAgent } from '../support/child-agents.js';
import { apiClient } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { checkAgainstOpenApi } from '../support/openapi-check.js';
import { reachedLimit } from '../support/rows.js';
import { message, steps, text, toolUse, wait } from '../support/scripted-model.js';
import { newToken } from '../support/tokens.js';
import { expectAcceptedRequests, useTurnService } from '../support/use.js';
import { confirmation, customResult, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';

/** decisions.md "Agents that call agents". */
describe('agents that call agents', () => {
  const service = useTurnService();
  expectAcceptedRequests(service);

  const get = async (path: string) => (await service.api('GET', `/v1/sessions${path}`)).body;
  const typesOf = (events: { type: string }[]): string[] => events.map(({ type }) => type);
  /** A session that may call the agents. */
  const parentOf = (agentIds: string[], more: Record<string, unknown> = {}): Promise<string> =>
    service.session({ thinking_enabled: false, tools: agentIds.map((id) => agentTool(id)), ...more });
  const delegationsOf = async (sessionId: string) =>
    (await service.history(sessionId)).filter(({ type }) => type === 'agent.delegated');
  /** `agent.delegated` of so many calls, once they are stored. */
  const delegated = async (sessionId: string, count = 1) => {
    let events: Awaited<ReturnType<typeof delegationsOf>> = [];
    await eventually(`${count} calls have begun turns`, async () => {
      events = await delegationsOf(sessionId);
      return events.length === count;
    });
    return events;
  };
  const resultsOf = async (sessionId: string) =>
    (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_result');
  const openTurns = async (): Promise<number> =>
    (await service.db.query<{ n: number }[]>('SELECT count(*)::integer AS n FROM open_turns'))[0]!.n;

  it('a call of an agent begins one turn in a child session, and its answer is the result', async () => {
    const agentId = await createAgent(service, 'researcher', { instruction: 'Search.' });
    service.model.on(/Go/, steps(callAgent('researcher', 'Find it.', 'toolu_1'), 'Done.'));
    service.model.on(/Find it/, steps(toolUse('deliver_file', { filename: 'a.txt', content: 'A' }), 'Found.'));
    const sessionId = await parentOf([agentId], { metadata: { a: 'b' }, user: 'jane' });
    const events = await service.run(sessionId, 'Go');
    expect(typesOf(events)).to.deep.equal([
      ...['user.message', 'agent.tool_use', 'agent.delegated', 'agent.file', 'agent.tool_result'],
      ...['agent.message', 'turn.completed'],
    ]);
    const [begun] = events.filter(({ type }) => type === 'agent.delegated');
    expect(begun).to.include({ tool_use_id: 'toolu_1', agent_id: agentId, agent_version: 1 });
    const { child_session_id: childId, child_turn_id: childTurnId } = begun;
    expect(childTurnId).to.not.equal(begun.turn_id);
    const child = await get(`/${childId}`);
    expect(child).to.deep.include({
      ...{ parent_session_id: sessionId, metadata: { a: 'b' }, user: 'jane', budget: null, instruction: 'Search.' },
      ...{ status: 'COMPLETE', turn_count: 1, preview: 'Find it.' },
    });
    expect((await get(`/${sessionId}`)).parent_session_id).to.equal(null);
    const file = events.find(({ type }) => type === 'agent.file').file;
    const [result] = events.filter(({ type }) => type === 'agent.tool_result');
    expect(result).to.deep.include({
      is_error: false,
      content: `Found.\n[file ${file.id} a.txt]\n[session ${childId}]`,
      delegation: {
        session_id: childId,
        turn_id: childTurnId,
        status: 'completed',
        stop_reason: 'end_turn',
        cost: null,
      },
    });
    const childEvents = await service.history(childId);
    expect(typesOf(childEvents)).to.include('agent.file');
    const files = (await service.api('GET', `/v1/files?session_id=${sessionId}`)).body.items;
    expect(files.map(({ id }: { id: string }) => id)).to.deep.equal([file.id]);
    expect((await service.api('GET', `/v1/files?session_id=${childId}`)).body.items).to.deep.equal([]);
    const turn = await get(`/${sessionId}/turns/${begun.turn_id}`);
    expect(turn.parent_turn_id).to.equal(null);
    expect(turn.usage_details.delegated).to.include({ turns: 1, model_calls: 2 });
    expect((await get(`/${childId}/turns/${childTurnId}`)).parent_turn_id).to.equal(begun.turn_id);
    const { items: timeline } = await get(`/${sessionId}/turns/${begun.turn_id}/timeline`);
    const [call] = timeline.filter(({ type }: { type: string }) => type === 'tool_call');
    expect(call).to.include({ session_id: childId, turn_id: childTurnId, status: 'ok' });
    expect(timeline.filter(({ type }: { type: string }) => type === 'wait')).to.deep.equal([]);
    expect(Date.parse(call.ended_at) - Date.parse(call.started_at)).to.be.at.least(
      Date.parse(childEvents.at(-1).created_at) - Date.parse(childEvents[0].created_at),
    );
  });

  it('a child session goes on where a later call names it, and a call that names one which works is refused', async () => {
    const agentId = await createAgent(service, 'writer');
    let childId = '';
    service.model.on(/Go/, steps(callAgent('writer', 'First draft.'), 'One.'));
    service.model.on(/draft/, steps('A draft.'));
    const sessionId = await parentOf([agentId]);
    await service.run(sessionId, 'Go');
    childId = (await delegated(sessionId))[0]!.child_session_id;
    const gate = service.model.gate();
    service.model.on(/Again/, ({ step }) =>
      step === 0
        ? [
            callAgent('writer', { message: 'Second draft.', session_id: childId }, 'toolu_a'),
            callAgent('writer', { message: 'Third draft.', session_id: childId }, 'toolu_b'),
            callAgent('writer', { message: 'Fourth draft.', session_id: 'ses_other' }, 'toolu_c'),
          ]
        : 'Two.',
    );
    service.model.on(/Second draft/, steps([wait(gate), text('A better draft.')]));
    await service.send(sessionId, 'Again');
    await eventually('two calls are refused', async () => (await resultsOf(sessionId)).length === 3);
    const refused = (await resultsOf(sessionId)).slice(1);
    expect(refused.map(({ tool_use_id, is_error }) => [tool_use_id, is_error])).to.have.deep.members([
      ['toolu_b', true],
      ['toolu_c', true],
    ]);
    for (const result of refused) expect(result).not.to.have.property('delegation');
    gate.open();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect((await get(`/${childId}`)).turn_count).to.equal(2);
    expect((await resultsOf(sessionId)).at(-1).content).to.include('A better draft.');
  });

  it('children of before a fork stay with the old session, and a fork of a child has no parent', async () => {
    const agentId = await createAgent(service, 'reader');
    service.model.on(/Go/, steps(callAgent('reader', 'Read.'), 'One.'));
    service.model.on(/Read/, steps('It says A.'));
    const sessionId = await parentOf([agentId]);
    const events = await service.run(sessionId, 'Go');
    const { child_session_id: childId } = (await delegated(sessionId))[0]!;
    const fork = (await service.api('POST', `/v1/sessions/${sessionId}/fork`)).body;
    expect(typesOf(await service.history(fork.id))).to.deep.equal(typesOf(events));
    service.model.on(/More/, steps(callAgent('reader', { message: 'Read on.', session_id: childId }), 'Two.'));
    await service.run(fork.id, 'More');
    const [, refused] = await resultsOf(fork.id);
    expect(refused).to.include({ is_error: true });
    expect(refused.content).to.include('fork');
    const forkOfChild = (await service.api('POST', `/v1/sessions/${childId}/fork`)).body;
    expect(forkOfChild).to.deep.include({ parent_session_id: null, status: 'COMPLETE' });
    service.model.on(/Hello/, steps('Hi.'));
    expect(typesOf(await service.run(forkOfChild.id, 'Hello')).at(-1)).to.equal('turn.completed');
  });

  it('an input that the tool does not take begins nothing', async () => {
    const agentId = await createAgent(service, 'strict');
    const inputs = [{}, { message: ' ' }, { message: 'x', files: ['file_x'] }, { message: 'x', more: 1 }];
    service.model.on(
      /Go/,
      steps(
        inputs.map((input) => callAgent('strict', input)),
        'Done.',
      ),
    );
    const sessionId = await parentOf([agentId]);
    await service.run(sessionId, 'Go');
    const results = await resultsOf(sessionId);
    expect(results.map(({ is_error }) => is_error)).to.deep.equal([true, true, true, true]);
    expect(await delegationsOf(sessionId)).to.deep.equal([]);
  });

  it('files of the session are attached for the child', async () => {
    const agentId = await createAgent(service, 'filer');
    const form = new FormData();
    form.set('file', new Blob(['hello']), 'hello.txt');
    const uploaded = await fetch(`${service.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}` },
      body: form,
    });
    const { id } = (await uploaded.json()) as { id: string };
    service.model.on(/Go/, steps(callAgent('filer', { message: 'Look.', files: [id] }), 'Done.'));
    service.model.on(/Look/, steps('Seen.'));
    const sessionId = await parentOf([agentId]);
    await service.send(sessionId, 'Go', { files: [id] });
    await service.ended(sessionId);
    const [{ child_session_id: childId }] = await delegated(sessionId);
    expect((await service.history(childId))[0].files.map((file: { id: string }) => file.id)).to.deep.equal([id]);
  });

  it('sixteen children work at a time, the others follow, and a project with room for one turn runs them', async () => {
    const agentId = await createAgent(service, 'crowd');
    const gate = service.model.gate();
    service.model.on(
      /Go/,
      steps(
        Array.from({ length: 20 }, (_, n) => callAgent('crowd', `Part ${n}.`)),
        'Done.',
      ),
    );
    service.model.on(/Part/, steps([wait(gate), text('Ready.')]));
    await service.db.query('UPDATE projects SET max_running_turns = 1');
    try {
      const sessionId = await parentOf([agentId]);
      await service.send(sessionId, 'Go');
      await delegated(sessionId, 16);
      const other = await service.session();
      expect((await service.api('POST', `/v1/sessions/${other}/messages`, { content: 'x' })).status).to.equal(429);
      expect(await openTurns()).to.equal(17);
      reachedLimit('open child turns of a turn: 16');
      gate.open();
      expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
      expect(await delegationsOf(sessionId)).to.have.length(20);
      expect((await resultsOf(sessionId)).map(({ is_error }) => is_error)).to.deep.equal(Array(20).fill(false));
      service.model.on(/^.*x$/s, steps('y'));
      expect((await service.api('POST', `/v1/sessions/${other}/messages`, { content: 'x' })).status).to.equal(201);
      await service.ended(other);
    } finally {
      await service.db.query('UPDATE projects SET max_running_turns = 100');
    }
  });

  it('a turn begins fifty turns of other agents in its life', async () => {
    const agentId = await createAgent(service, 'many');
    const calls = (count: number) => Array.from({ length: count }, (_, n) => callAgent('many', `Piece ${n}.`));
    service.model.on(/Go/, steps(calls(26), calls(26), 'Done.'));
    service.model.on(/Piece/, steps('Ok.'));
    const sessionId = await parentOf([agentId]);
    await service.send(sessionId, 'Go');
    await service.ended(sessionId);
    expect(await delegationsOf(sessionId)).to.have.length(50);
    reachedLimit('child turns of a turn: 50');
    const refused = (await resultsOf(sessionId)).filter(({ is_error }) => is_error);
    expect(refused.map(({ content }) => content)).to.deep.equal(
      Array(2).fill('Not begun: this turn has begun 50 turns of other agents, its limit.'),
    );
  });

  it('what children ask is in the required actions of the parent, and is answered in the child', async () => {
    const agentId = await createAgent(service, 'asker', { tools: [customTool('lookup')] });
    service.model.on(
      /Go/,
      steps([callAgent('asker', 'Ask A.', 'toolu_a'), callAgent('asker', 'Ask B.', 'toolu_b')], 'Done.'),
    );
    service.model.on(/Ask/, steps(toolUse('lookup', { city: 'Rome' }, { id: 'toolu_c' }), 'Asked.'));
    const sessionId = await parentOf([agentId]);
    const turnId = await service.send(sessionId, 'Go');
    const actions = await requiredActions(service, sessionId, 2);
    const children = (await delegated(sessionId, 2)).map(({ child_session_id: id }) => id as string);
    expect(actions.map(({ session_id }) => session_id)).to.have.members(children);
    expect(actions[0]).to.deep.include({ type: 'custom_tool_result', tool_use_id: 'toolu_c', input: { city: 'Rome' } });
    expect((await get(`/${sessionId}`)).waiting_since).to.be.a('string');
    await eventually('the parent waits', async () => (await get(`/${sessionId}/turns/${turnId}`)).status === 'waiting');
    let shown: { created_at: string; required_actions: object[] }[] = [];
    await eventually('the parent tells of both', async () => {
      shown = (await service.history(sessionId)).filter(({ type }) => type === 'agent.requires_action');
      return shown.at(-1)?.required_actions.length === 2;
    });
    expect(shown.at(-1)!.required_actions).to.deep.equal(actions);
    const listed = async (query: string): Promise<string[]> =>
      (await get(`?${query}`)).items.map(({ id }: { id: string }) => id);
    expect(await listed('requires_action=true')).to.deep.equal([sessionId]);
    expect(await listed('requires_action=false')).to.not.include.members([sessionId]);
    expect(await listed(`parent_session_id=${sessionId}`)).to.have.members(children);
    expect(await listed('')).to.not.include.members(children);
    expect(await listed('order=activity'))
      .to.include(sessionId)
      .and.not.include.members(children);
    const wrong = await sendAnswers(service, sessionId, [customResult('toolu_c', 'x')]);
    expect([wrong.status, wrong.body.error.type]).to.deep.equal([404, 'tool_use_not_found']);
    const call = await sendAnswers(service, sessionId, [confirmation('toolu_a', 'allow')]);
    expect([call.status, call.body.error.details.state]).to.deep.equal([409, 'not_required']);
    expect((await sendAnswers(service, children[0]!, [customResult('toolu_c', '20 degrees')])).status).to.equal(201);
    expect(await requiredActions(service, sessionId, 1)).to.deep.equal([
      actions.find(({ session_id }) => session_id === children[1]),
    ]);
    await eventually('the parent tells of the one that is left', async () => {
      shown = (await service.history(sessionId)).filter(({ type }) => type === 'agent.requires_action');
      return shown.at(-1)!.required_actions.length === 1;
    });
    const times = shown.map(({ created_at }) => Date.parse(created_at));
    for (const [n, time] of times.slice(1).entries()) expect(time - times[n]!).to.be.at.least(2000);
    expect((await sendAnswers(service, children[1]!, [customResult('toolu_c', '30 degrees')])).status).to.equal(201);
    expect(await service.ended(sessionId)).to.deep.include({ type: 'turn.completed' });
    expect((await service.ended(sessionId)).timing.waiting_ms).to.equal(null);
  });

  it('a call that a person must allow begins its turn when it is allowed, and none when it is denied', async () => {
    const agentId = await createAgent(service, 'guarded');
    const policy = { permission_policy: { type: 'always_ask' } };
    service.model.on(
      /Go/,
      steps([callAgent('guarded', 'Work A.', 'toolu_a'), callAgent('guarded', 'Work B.', 'toolu_b')], 'Done.'),
    );
    service.model.on(/Work/, steps('Worked.'));
    const sessionId = await service.session({ thinking_enabled: false, tools: [agentTool(agentId, policy)] });
    await service.send(sessionId, 'Go');
    await requiredActions(service, sessionId, 2);
    expect(await delegationsOf(sessionId)).to.deep.equal([]);
    const answers = [confirmation('toolu_a', 'allow'), confirmation('toolu_b', 'deny', 'No.')];
    expect((await sendAnswers(service, sessionId, answers)).status).to.equal(201);
    await service.ended(sessionId);
    const results = await resultsOf(sessionId);
    expect(results.find(({ tool_use_id }) => tool_use_id === 'toolu_a')).to.include({ is_error: false });
    expect(results.find(({ tool_use_id }) => tool_use_id === 'toolu_b').content).to.include('denied');
    expect(await delegationsOf(sessionId)).to.have.length(1);
  });

  it('a cancel of the parent ends its children first, and a later turn can go on in their sessions', async () => {
    const agentId = await createAgent(service, 'slow');
    const gate = service.model.gate();
    service.model.on(/Go/, steps([callAgent('slow', 'Wait A.'), callAgent('slow', 'Wait B.')], 'Done.'));
    service.model.on(/Wait/, steps([text('Some'), wait(gate), text(' more.')]));
    const sessionId = await parentOf([agentId]);
    await service.send(sessionId, 'Go');
    const children = (await delegated(sessionId, 2)).map(({ child_session_id: id }) => id as string);
    const running = await service.api('DELETE', `/v1/sessions/${sessionId}`);
    expect([running.status, running.body.error.type]).to.deep.equal([409, 'session_running']);
    await gate.reached;
    const began = Date.now();
    expect((await service.api('POST', `/v1/sessions/${sessionId}/cancel`)).status).to.equal(200);
    const end = await service.ended(sessionId);
    expect(Date.now() - began).to.be.below(5000);
    expect(end).to.include({ type: 'turn.cancelled' });
    expect(end.usage_details.delegated.turns).to.equal(2);
    for (const child of children) {
      const last = (await service.history(child)).at(-1);
      expect(last).to.include({ type: 'turn.cancelled' });
      expect(last.created_at <= end.created_at).to.equal(true);
    }
    expect(await resultsOf(sessionId)).to.deep.equal([]);
    service.model.on(/On/, steps('Ok.'));
    await service.run(sessionId, 'On');
    const { messages } = service.model.requests.at(-1)!.body;
    const told = JSON.stringify(messages);
    for (const child of children) expect(told).to.include(`[stopped: cancelled]\\n[session ${child}]`);
    gate.open();
  });

  it('a cancel of a child ends its turn alone, and the parent goes on with the error result', async () => {
    const agentId = await createAgent(service, 'single');
    const gate = service.model.gate();
    service.model.on(/Go/, steps(callAgent('single', 'Hold.'), 'Done.'));
    service.model.on(/Hold/, steps([text('Part'), wait(gate)]));
    const sessionId = await parentOf([agentId]);
    await service.send(sessionId, 'Go');
    const [{ child_session_id: child }] = await delegated(sessionId);
    await gate.reached;
    expect((await service.api('POST', `/v1/sessions/${child}/cancel`)).status).to.equal(200);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const [result] = await resultsOf(sessionId);
    expect(result).to.deep.include({ is_error: true });
    expect(result.content).to.include(`[stopped: cancelled]\n[session ${child}]`);
    expect(result.delegation).to.include({ status: 'cancelled', stop_reason: null });
    gate.open();
  });

  it('a child that fails is an error result that says why', async () => {
    const agentId = await createAgent(service, 'broken', { model_id: 'scripted' });
    service.model.on(/Go/, steps(callAgent('broken', 'Fail.'), 'Done.'));
    service.model.on(/Fail/, steps(message([text('')], { stopReason: 'refusal' })));
    const sessionId = await parentOf([agentId]);
    await service.run(sessionId, 'Go');
    const [result] = await resultsOf(sessionId);
    expect(result).to.include({ is_error: true });
    expect(result.content).to.match(/^\(no message\)\n\[stopped: refusal\]\n\[session ses_/);
    expect(result.delegation).to.include({ status: 'completed', stop_reason: 'refusal' });
  });

  it('a child session takes no messages, changes or tokens of clients, and goes with its parent', async () => {
    const agentId = await createAgent(service, 'owned');
    service.model.on(/Go/, steps(callAgent('owned', 'Own.'), 'Done.'));
    service.model.on(/Own/, steps('Owned.'));
    const sessionId = await parentOf([agentId]);
    await service.run(sessionId, 'Go');
    const [{ child_session_id: child, child_turn_id: turnId }] = await delegated(sessionId);
    const requests: [string, string, object?][] = [
      ['POST', '/messages', { content: 'x' }],
      ['POST', '/continue'],
      ['POST', '/queue/release'],
      ['DELETE', '/queue/evt_1'],
      ['PATCH', '', { metadata: { a: 'b' } }],
      ['DELETE', ''],
      ['POST', '/tokens', { scopes: ['read'] }],
    ];
    for (const [method, path, body] of requests) {
      const answer = await service.api(method, `/v1/sessions/${child}${path}`, body);
      expect([answer.status, answer.body.error.type], `${method} ${path}`).to.deep.equal([409, 'child_session']);
      expect(answer.headers.get('x-should-retry')).to.equal('false');
    }
    const schedule = {
      cron: '0 9 * * *',
      target: { type: 'existing_session', session_id: child },
      message: { content: 'x' },
    };
    expect((await service.api('POST', '/v1/schedules', schedule)).body.error.type).to.equal('child_session');
    for (const path of ['', '/events', '/turns', `/turns/${turnId}`, `/turns/${turnId}/timeline`, '/queue'])
      expect((await service.api('GET', `/v1/sessions/${child}${path}`)).status, path).to.equal(200);
    expect((await service.api('POST', `/v1/sessions/${child}/cancel`)).status).to.equal(200);
    expect((await service.api('DELETE', `/v1/sessions/${sessionId}`)).status).to.equal(204);
    expect((await service.api('GET', `/v1/sessions/${child}`)).status).to.equal(404);
  });

  it('a token of the parent holds for its children, and for no others', async () => {
    const agentId = await createAgent(service, 'tokened', { tools: [customTool('lookup')] });
    service.model.on(/Go/, steps(callAgent('tokened', 'Check.'), 'Done.'));
    service.model.on(/Check/, steps(toolUse('lookup', {}, { id: 'toolu_1' }), 'Checked.'));
    const sessionId = await parentOf([agentId]);
    await service.send(sessionId, 'Go');
    await requiredActions(service, sessionId);
    const [{ child_session_id: child }] = await delegated(sessionId);
    const withToken = apiClient(service.url, await newToken(service, sessionId), checkAgainstOpenApi);
    const other = apiClient(service.url, await newToken(service, await service.session()), checkAgainstOpenApi);
    expect((await withToken('GET', `/v1/sessions/${child}`)).body).to.deep.include({ instruction: null, metadata: {} });
    expect((await withToken('GET', `/v1/sessions/${child}/events`)).status).to.equal(200);
    expect((await other('GET', `/v1/sessions/${child}`)).status).to.equal(404);
    expect((await withToken('POST', `/v1/sessions/${child}/messages`, { content: 'x' })).status).to.equal(409);
    const answer = await withToken('POST', `/v1/sessions/${child}/events`, { events: [customResult('toolu_1', 'x')] });
    expect(answer.status).to.equal(201);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
  });

  it('one level: a child offers no agents', async () => {
    const inner = await createAgent(service, 'inner');
    const outer = await createAgent(service, 'outer', { tools: [agentTool(inner)] });
    service.model.on(/Go/, steps(callAgent('outer', 'Deeper.'), 'Done.'));
    service.model.on(/Deeper/, steps('No.'));
    const sessionId = await parentOf([outer]);
    await service.run(sessionId, 'Go');
    const names = ({ body }: (typeof service.model.requests)[number]) =>
      (body.tools ?? []).map((tool) => (tool as { name: string }).name);
    const [asParent, asChild] = service.model.requests.map(names);
    expect(asParent).to.deep.equal(['list_files', 'read_file', 'deliver_file', 'agent__outer']);
    expect(asChild).to.deep.equal(['list_files', 'read_file', 'deliver_file']);
  });
});
