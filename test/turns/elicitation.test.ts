import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { Question, TestTask, TestToolCall } from '../support/mcp-server.js';
import { elicitationResult as result, expectSoonCancelled, useOps } from '../support/ops-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { requiredActions, sendAnswers } from '../support/waiting-turns.js';

const FORM = {
  mode: 'form',
  message: 'Which branch?',
  requestedSchema: {
    type: 'object',
    properties: { branch: { type: 'string', minLength: 1 }, force: { type: 'boolean' } },
    required: ['branch'],
  },
} as const satisfies Question;
const PAGE = { mode: 'url', message: 'Please pay.', elicitationId: 'p1', url: 'https://pay.example.com/1' } as const;

const codeOf = ({ code }: { code: number }): number => code;

/** decisions.md "Tasks and elicitation", "Elicitation", against a server of the MCP SDK. */
describe('a server that asks', () => {
  let work: (call: TestToolCall) => unknown;
  let workTask: (task: TestTask) => unknown;

  const { mcp, service, answer, expectClosed, expectNoneOpen, isCancelled, ...ops } = useOps({
    tasks: true,
    tools: [
      { name: 'deploy', run: (call) => work(call) },
      { name: 'build', pollInterval: 1000, task: (task) => workTask(task) },
    ],
  });
  const start = async (tool = 'deploy', elicitation = true): Promise<string> =>
    (await ops.start(tool, elicitation)).sessionId;
  /** The tool asks, and returns the answer. */
  const asks = (question: Question): void => {
    work = async ({ ask }) => JSON.stringify(await ask(question));
  };
  /** What the tool has returned, once the turn has ended. */
  const returned = async (sessionId: string): Promise<unknown> =>
    JSON.parse((await ops.result(sessionId)).content as string);

  it('a server that asks gets what the person fills in', async () => {
    asks(FORM);
    const sessionId = await start();
    const [action] = await requiredActions(service, sessionId);
    expect(action).to.include({
      type: 'elicitation',
      tool_use_id: 'toolu_deploy',
      name: 'mcp__ops__deploy',
      mode: 'form',
    });
    expect(action).to.deep.include({ message: 'Which branch?', requested_schema: FORM.requestedSchema });
    expect(action.elicitation_id).to.match(/^elic_/);
    const page = await service.api('GET', '/v1/sessions?requires_action=true');
    expect(page.body.items.map(({ id }: { id: string }) => id)).to.deep.equal([sessionId]);

    const { status, body } = await sendAnswers(service, sessionId, [
      { ...result(action.elicitation_id, 'accept', { branch: 'main', force: true }), actor: 'ada' },
    ]);
    expect(status, JSON.stringify(body)).to.equal(201);
    const [stored] = body.items;
    expect(stored).to.deep.include({ action: 'accept', content: { branch: 'main', force: true }, actor: 'ada' });
    expect(await returned(sessionId)).to.deep.include({ action: 'accept', content: { branch: 'main', force: true } });
    const events = await service.history(sessionId);
    expect(events.at(-1).timing.waiting_ms).to.be.greaterThan(0);
    expect(events.map(({ type }) => type as string)).to.deep.equal([
      'user.message',
      'agent.tool_use',
      'agent.requires_action',
      'user.elicitation_result',
      'agent.tool_result',
      'agent.message',
      'turn.completed',
    ]);
    const again = await answer(sessionId, action.elicitation_id, 'accept', { force: true, branch: 'main' });
    expect(again.status).to.equal(201);
    expect(again.body.items).to.deep.equal([stored]);
    const other = await answer(sessionId, action.elicitation_id, 'decline');
    expect(other.body.error).to.deep.include({ type: 'elicitation_not_pending' });
    await expectClosed(sessionId, action.elicitation_id, 'answered');
  });

  it('a server that asks refuses answers that do not fit', async () => {
    asks(FORM);
    const sessionId = await start();
    const [{ elicitation_id: id }] = await requiredActions(service, sessionId);
    for (const [status, refusal, ...given] of [
      [404, 'elicitation_not_found', 'elic_00000000000000000000000000', 'cancel'],
      [422, '/events/0/content/branch', id, 'accept', { branch: 1 }],
      [422, '/events/0/content/branch', id, 'accept', {}],
      [422, '/events/0/content/more', id, 'accept', { branch: 'a', more: 1 }],
      [422, '/events/0/content', id, 'accept'],
      [422, '/events/0/content', id, 'decline', { branch: 'a' }],
    ] as [number, string, ...Parameters<typeof result>][]) {
      const { status: found, body } = await answer(sessionId, ...given);
      expect([found, body.error.details?.errors?.[0]?.path ?? body.error.type]).to.deep.equal([status, refusal]);
    }
    const declined = await answer(sessionId, id, 'decline', null);
    expect(declined.status).to.equal(201);
    expect(declined.body.items[0]).to.include({ elicitation_id: id, action: 'decline', content: null });
    expect(await returned(sessionId)).to.include({ action: 'decline' });
  });

  it('a server that asks may ask the person to open an address, which the service does not open', async () => {
    let visits = 0;
    const page = createServer(() => (visits += 1)).listen(0, '127.0.0.1');
    await once(page, 'listening');
    const url = `https://127.0.0.1:${(page.address() as AddressInfo).port}/pay`;
    asks({ ...PAGE, url });
    const sessionId = await start();
    const [action] = await requiredActions(service, sessionId);
    expect(action).to.include({ mode: 'url', url, message: PAGE.message });
    expect(action).to.not.have.property('requested_schema');
    expect((await answer(sessionId, action.elicitation_id, 'accept', {})).status).to.equal(422);
    await answer(sessionId, action.elicitation_id, 'accept');
    expect(await returned(sessionId)).to.deep.equal({ action: 'accept' });
    page.close();
    expect(visits).to.equal(0);
  });

  it('a server that asks gets -32602 for questions beyond the limits, which are not asked', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 200 }, (_, n) => [`field_${n}`, { type: 'string', description: 'x'.repeat(200) }]),
    );
    const endless = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`f${n}`, { type: 'string' }]));
    let nested: object = { type: 'object', properties: {} };
    for (let depth = 0; depth < 500; depth += 1) nested = { type: 'object', properties: { deep: nested } };
    const questions: unknown[] = [
      { ...PAGE, url: 'http://pay.example.com/1' },
      { ...PAGE, url: 'https://ada:secret@pay.example.com/1' },
      { ...PAGE, url: `https://pay.example.com/${'x'.repeat(2048)}` },
      { ...FORM, message: 'x'.repeat(10_001) },
      { ...FORM, requestedSchema: { type: 'object', properties: many } },
      { ...FORM, requestedSchema: { type: 'object', properties: { deep: { type: 'object', properties: {} } } } },
      { ...FORM, requestedSchema: nested },
      // The last one: after a question of this size the server has to wait.
      { ...FORM, requestedSchema: { type: 'object', properties: endless } },
    ];
    work = async ({ ask }) => {
      const codes = [];
      for (const question of questions) codes.push(await ask(question as Question).catch(codeOf));
      return JSON.stringify(codes);
    };
    const sessionId = await start();
    expect(await returned(sessionId)).to.deep.equal(questions.map(() => -32602));
    const events = await service.history(sessionId);
    expect(events.filter(({ type }) => type === 'agent.requires_action')).to.deep.equal([]);
  });

  it('a server that asks has at most 20 open questions in a turn', async () => {
    work = async ({ ask }) => {
      const asked = Array.from({ length: 21 }, () => ask(FORM).catch(codeOf));
      const codes = await Promise.all(asked);
      return JSON.stringify(codes.filter((code) => code === -32602).length);
    };
    const sessionId = await start();
    const actions = await requiredActions(service, sessionId, 20);
    const events = actions.map(({ elicitation_id: id }) => result(id as string, 'cancel'));
    await sendAnswers(service, sessionId, events);
    expect(await returned(sessionId)).to.equal(1);
  });

  it('a server that asks has at most 100 questions in a turn, however soon they are answered', async () => {
    work = async ({ ask }) => {
      const answers = [(await ask(FORM)).action, (await ask(FORM)).action, await ask(FORM).catch(codeOf)];
      return JSON.stringify(answers);
    };
    const sessionId = await start();
    const [first] = await requiredActions(service, sessionId);
    await service.db.query(
      `INSERT INTO waits (id, turn_id, step, index, session_id, tool_use_id, kind, ask, during_call, asked_at, expires_at, state,
         outcome, closed_at)
       SELECT id || n, turn_id, step, index, session_id, tool_use_id, kind, ask, during_call, asked_at, expires_at, 'closed',
         'expired', asked_at
       FROM waits, generate_series(1, 98) AS n WHERE id = $1`,
      [first.elicitation_id],
    );
    await ops.declineAll(sessionId);
    await ops.declineAll(sessionId);
    expect(await returned(sessionId)).to.deep.equal(['decline', 'decline', -32602]);
  });

  it('a server that asks may withdraw its question', async () => {
    const stop = new AbortController();
    work = async ({ ask }) => {
      await ask(FORM, { signal: stop.signal }).catch(() => undefined);
      await ask(PAGE);
      return 'ok';
    };
    const sessionId = await start();
    const [first] = await requiredActions(service, sessionId);
    stop.abort('changed my mind');
    await eventually('the other question', async () => {
      const [action] = (await service.api('GET', `/v1/sessions/${sessionId}`)).body.required_actions;
      return action?.mode === 'url';
    });
    await expectClosed(sessionId, first.elicitation_id, 'withdrawn', 'cancel');
    const [second] = await requiredActions(service, sessionId);
    await answer(sessionId, second.elicitation_id, 'accept');
    await ops.result(sessionId);
    await expectNoneOpen(sessionId);
  });

  for (const tool of ['deploy', 'build']) {
    it(`a server that asks is offered to ask on every connection of a turn (${tool})`, async () => {
      const name = `fresh-${tool}`;
      const { status, body: fresh } = await service.api('POST', '/v1/mcp-servers', { name, url: `${mcp.url}?${tool}` });
      expect(status, JSON.stringify(fresh)).to.equal(201);
      const offers: unknown[] = [];
      mcp.options.gateway = (_, __, body) => {
        if (body.includes('"initialize"')) offers.push(JSON.parse(body).params.capabilities);
        return false;
      };
      work = () => 'ok';
      workTask = ({ end }) => end('completed', 'ok');
      service.model.on(/Fresh/, steps([toolUse(`mcp__${name}__${tool}`, {})], 'Done.'));
      for (const elicitation of [true, false]) {
        const tools = [{ type: 'mcp_toolset', mcp_server_id: fresh.id, elicitation }];
        const sessionId = await service.session({ mcp_servers: [fresh.id], tools });
        await service.run(sessionId, 'Fresh');
        expect((await service.resultOf(sessionId)).content).to.equal('ok');
      }
      delete mcp.options.gateway;
      const asking = { elicitation: { form: {}, url: {} } };
      // One to connect, one for the call. A call as a task has its own also without questions.
      expect(offers).to.deep.equal([asking, asking, {}, ...(tool === 'build' ? [{}] : [])]);
    });
  }

  it('a server that asks gets an error when it asks, unless the session allows it', async () => {
    work = ({ ask }) => ask(FORM).catch(() => 'refused');
    const sessionId = await start('deploy', false);
    expect((await ops.result(sessionId)).content).to.equal('refused');
  });

  it('a server that asks is cancelled with the turn while it waits', async () => {
    asks(FORM);
    const sessionId = await start();
    const [{ elicitation_id: id }] = await requiredActions(service, sessionId);
    expect(await service.cancel(sessionId)).to.include({ type: 'turn.cancelled' });
    await expectClosed(sessionId, id, 'cancelled', 'cancel');
  });

  it('a server that asks is cancelled with the turn while its task waits for the answer', async () => {
    let taskId = '';
    workTask = async ({ id, update, ask }) => {
      taskId = id;
      await update('input_required');
      // The service ends the session of the server, and with it the question.
      await ask(FORM).catch(() => undefined);
    };
    const sessionId = await start('build');
    const [{ elicitation_id: id }] = await requiredActions(service, sessionId);
    expect(await service.cancel(sessionId)).to.include({ type: 'turn.cancelled' });
    await expectSoonCancelled(service, sessionId);
    await eventually('the task is cancelled', () => isCancelled(taskId));
    await expectClosed(sessionId, id, 'cancelled', 'cancel');
  });

  it('a server that asks becomes an error result that shows the address which a person has to open first', async () => {
    work = () => {
      throw Object.assign(new Error('Authorize first'), { code: -32042, data: { elicitations: [PAGE] } });
    };
    const sessionId = await start();
    const { is_error, content } = await ops.result(sessionId);
    expect(is_error).to.equal(true);
    expect(content).to.include(PAGE.url).and.include('a person has to open');
  });

  for (const question of [FORM, PAGE]) {
    it(`a server that asks may ask within a task (${question.mode})`, async () => {
      workTask = async ({ update, ask, end }) => {
        await update('input_required', 'Waiting for you');
        const answered = await ask(question);
        await update('working');
        await end('completed', JSON.stringify(answered));
      };
      const sessionId = await start('build');
      const [action] = await requiredActions(service, sessionId);
      expect(action).to.include({ type: 'elicitation', mode: question.mode, name: 'mcp__ops__build' });
      const content = question.mode === 'form' ? { branch: 'main' } : undefined;
      await answer(sessionId, action.elicitation_id, 'accept', content);
      expect(await returned(sessionId)).to.deep.equal({ action: 'accept', ...(content && { content }) });
      const events = await service.history(sessionId);
      expect(events.at(-1).timing.waiting_ms).to.be.greaterThan(0);
      const progress = events.filter(({ type }) => type === 'agent.tool_progress');
      expect(progress[0]).to.include({ status: 'input_required', message: 'Waiting for you' });
    });
  }
});
