import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { failure, message, steps, text, toolUse, wait } from '../../support/scripted-model.js';
import { startTurnService } from '../../support/turns.js';
import { confirmation, customResult, customTool, requiredActions, sendAnswers } from '../../support/waiting-turns.js';
import { useRegisteredMcp } from '../../support/use.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into fields of many types
type Entry = any;

/** decisions.md "Results", "Timeline". */
describe('the timeline of a turn', function () {
  this.timeout(60_000);
  const { service, registered } = useRegisteredMcp('mail', {
    tools: [
      { name: 'send' },
      {
        name: 'fail',
        run: () => {
          throw new Error('No such mailbox');
        },
      },
    ],
  });
  afterEach(() => service.model.reset());

  const read = async (
    sessionId: string,
    turnId: string,
    query = '',
  ): Promise<{ items: Entry[]; next: string | null }> => {
    const { status, body } = await service.api('GET', `/v1/sessions/${sessionId}/turns/${turnId}/timeline${query}`);
    expect(status, JSON.stringify(body)).to.equal(200);
    return { items: body.items, next: body.meta.next_cursor };
  };
  const timeline = async (sessionId: string, turnId: string): Promise<Entry[]> => {
    const { items } = await read(sessionId, turnId, '?limit=100');
    for (const { started_at, ended_at } of items) expect(ended_at === null || ended_at >= started_at).to.equal(true);
    const begins = items.map(({ started_at }) => started_at);
    expect(begins).to.deep.equal([...begins].sort());
    return items;
  };
  const kinds = (items: Entry[]): string[] =>
    items.map(({ type, name, model_id, status }) => [type, name ?? model_id ?? '', status].join(' '));

  it('the timeline of a turn shows each part with its begin, its end and its facts, also over pages', async () => {
    service.model.on(
      /Go/,
      steps(
        [text('I look.'), toolUse('mcp__mail__send', { to: 'ada' }, { id: 'toolu_send' })],
        message([toolUse('mcp__mail__fail', {}, { id: 'toolu_fail' })]),
        'Done.',
      ),
    );
    const sessionId = await service.session({ mcp_servers: [registered.id] });
    const turnId = await service.send(sessionId, 'Go');
    const end = await service.ended(sessionId);
    const items = await timeline(sessionId, turnId);
    expect(kinds(items)).to.deep.equal([
      'queued  ok',
      'connect  ok',
      'model_call scripted ok',
      'tool_call mcp__mail__send ok',
      'model_call scripted ok',
      'tool_call mcp__mail__fail failed',
      'model_call scripted ok',
    ]);
    const [queued, connect, first, sent] = items;
    const history = await service.history(sessionId);
    expect(queued).to.have.all.keys('type', 'started_at', 'ended_at', 'status');
    expect(queued.started_at).to.equal(history[0].created_at);
    expect(connect).to.have.all.keys('type', 'started_at', 'ended_at', 'status');
    expect(first).to.deep.include({ step: 1, attempt: 1 });
    expect(first.message_id).to.equal(history.find(({ type }) => type === 'agent.message')!.message_id);
    expect(first.first_token_ms).to.be.within(0, Date.parse(first.ended_at) - Date.parse(first.started_at) + 1);
    expect(sent).to.deep.include({ step: 1, tool_use_id: 'toolu_send', mcp_server_id: registered.id });
    const calls = items.filter(({ type }) => type === 'model_call');
    const sum = (field: string): number => calls.reduce((all, { usage }) => all + usage[field], 0);
    expect({ input_tokens: sum('input_tokens'), output_tokens: sum('output_tokens') }).to.deep.equal(end.usage);
    const paged: Entry[] = [];
    for (let cursor = ''; ;) {
      const page = await read(sessionId, turnId, `?limit=3${cursor}`);
      paged.push(...page.items);
      if (page.next === null) break;
      cursor = `&cursor=${page.next}`;
    }
    expect(paged).to.deep.equal(items);
  });

  it('the timeline of a turn shows attempts that failed, and why', async () => {
    service.model.reply(failure('overloaded_error'));
    service.model.reply('Done.');
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'Go');
    await service.ended(sessionId);
    const items = await timeline(sessionId, turnId);
    expect(kinds(items)).to.deep.equal(['queued  ok', 'model_call scripted failed', 'model_call scripted ok']);
    expect(items.slice(1).map(({ attempt, step }) => [step, attempt])).to.deep.equal([
      [1, 1],
      [1, 2],
    ]);
    expect(items[1].error).to.have.all.keys('type', 'message', 'retryable');
    expect(items[1].error).to.include({ type: 'model_overloaded', retryable: true });
    expect(items[1]).not.to.have.property('first_token_ms');
  });

  it('the timeline of a turn shows waits for answers as they go, and what the end of the turn broke off', async () => {
    service.model.on(
      /Go/,
      steps(
        message([toolUse('mcp__mail__send', {}, { id: 'toolu_1' }), toolUse('get_weather', {}, { id: 'toolu_2' })]),
        [text('Half of '), wait(service.model.gate())],
      ),
    );
    const sessionId = await service.session({
      mcp_servers: [registered.id],
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_id: registered.id,
          default_config: { permission_policy: { type: 'always_ask' } },
        },
        customTool('get_weather'),
      ],
    });
    const turnId = await service.send(sessionId, 'Go');
    await requiredActions(service, sessionId, 2);
    const open = (await timeline(sessionId, turnId)).filter(({ type }) => type === 'wait');
    expect(
      open.map(({ name, action, tool_use_id, status, ended_at }) => [name, action, tool_use_id, status, ended_at]),
    ).to.deep.equal([
      ['mcp__mail__send', 'tool_confirmation', 'toolu_1', 'running', null],
      ['get_weather', 'custom_tool_result', 'toolu_2', 'running', null],
    ]);
    await sendAnswers(service, sessionId, [confirmation('toolu_1', 'allow'), customResult('toolu_2', 'Sunny')]);
    await eventually(
      'the second call streams',
      async () => (await timeline(sessionId, turnId)).at(-1).type === 'model_call',
    );
    expect((await timeline(sessionId, turnId)).at(-1)).to.include({ status: 'running', ended_at: null, step: 2 });
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    await service.ended(sessionId);
    expect(kinds(await timeline(sessionId, turnId)).slice(1)).to.deep.equal([
      'connect  ok',
      'model_call scripted ok',
      'wait mcp__mail__send ok',
      'wait get_weather ok',
      'tool_call mcp__mail__send ok',
      'model_call scripted cancelled',
    ]);
  });

  it('the timeline of a turn shows a turn that no worker has begun', async () => {
    const idle = await startTurnService({ workers: 0 });
    try {
      const sessionId = await idle.session();
      const turnId = await idle.send(sessionId, 'Go');
      const path = `/v1/sessions/${sessionId}/turns/${turnId}/timeline`;
      const states = async (): Promise<string[]> => kinds((await idle.api('GET', path)).body.items);
      expect(await states()).to.deep.equal(['queued  running']);
      await idle.api('POST', `/v1/sessions/${sessionId}/cancel`);
      await eventually('it is cancelled', async () => (await states())[0] === 'queued  cancelled');
    } finally {
      await idle.close();
    }
  });

  it('the timeline of a turn is that of a turn of the session', async () => {
    service.model.reply('Done.');
    const [one, other] = [await service.session(), await service.session()];
    const turnId = await service.send(one, 'Go');
    await service.ended(one);
    const { status, body } = await service.api('GET', `/v1/sessions/${other}/turns/${turnId}/timeline`);
    expect([status, body.error.type]).to.deep.equal([404, 'turn_not_found']);
  });
});
