import { expect } from 'chai';
import type { ApiCall, ApiResponse } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { message, steps, toolUse } from '../support/scripted-model.js';
import { keyIdOf, newToken } from '../support/tokens.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../support/use.js';
import { confirmation, customResult, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';

const use = (name: string, id: string, input: object = {}) => toolUse(name, input as Record<string, unknown>, { id });
const ask = (approvers?: string[]) => ({
  permission_policy: { type: 'always_ask', ...(approvers && { approvers }) },
});

/** decisions.md "Keys, approvers, audit log", "Who may approve what". */
describe('a call that approvers decide', function () {
  this.timeout(60_000);
  const { mcp, service, registered } = useRegisteredMcp('bank', {
    tools: ['pay', 'read', 'mail'].map((name) => ({ name })),
  });
  expectAcceptedRequests(service);
  const keys: Record<'finance' | 'legal' | 'every' | 'none', string> = { finance: '', legal: '', every: '', none: '' };
  before(async () => {
    keys.finance = await service.newKey({ approverGroups: ['finance'] });
    keys.legal = await service.newKey({ approverGroups: ['legal'] });
    keys.every = await service.newKey({ approverGroups: ['*'] });
    keys.none = await service.newKey();
  });
  afterEach(async () => {
    mcp.calls.length = 0;
    await requireApprovals([]);
  });

  const as = (name: keyof typeof keys): ApiCall => service.as(keys[name]);
  const requireApprovals = async (required_approvals: object[]): Promise<ApiResponse> =>
    service.api('PATCH', `/v1/mcp-servers/${registered.id}`, { required_approvals });
  const answer = (who: ApiCall, sessionId: string, ...events: object[]) => sendAnswers({ api: who }, sessionId, events);
  const outcomeOf = ({ status, body }: ApiResponse): unknown[] => [status, body.error?.type, body.error?.details];
  const waitingTurn = async (calls: ReturnType<typeof use>[], tools: object[], count = calls.length) => {
    service.model.on(/Go/, steps(message(calls), 'Done.'));
    const sessionId = await service.session({ thinking_enabled: false, mcp_servers: [registered.id], tools });
    await service.send(sessionId, 'Go');
    return { sessionId, actions: count === 0 ? [] : await requiredActions(service, sessionId, count) };
  };
  const toolset = (configs: object[], default_config?: object) => ({
    type: 'mcp_toolset',
    mcp_server_id: registered.id,
    configs,
    ...(default_config && { default_config }),
  });
  const pay = (approvers?: string[]) => toolset([{ name: 'pay', ...ask(approvers) }]);
  const stored = async (sessionId: string): Promise<string[]> =>
    (await service.history(sessionId)).map(({ type }) => type as string).filter((type) => type.startsWith('user.tool'));

  it('a call that approvers decide waits for one of their groups, and says so in its action', async () => {
    const { sessionId, actions } = await waitingTurn(
      [use('mcp__bank__pay', 'toolu_1'), use('mcp__bank__mail', 'toolu_2')],
      [toolset([{ name: 'pay', ...ask(['finance', 'board']) }], ask())],
    );
    expect(actions.map((action) => action.approvers)).to.deep.equal([['finance', 'board'], undefined]);
    expect(actions[1]).to.not.have.property('approvers');
    const refused = [403, 'not_an_approver', { approvers: ['finance', 'board'] }];
    for (const result of ['allow', 'deny']) {
      for (const who of ['none', 'legal'] as const) {
        expect(outcomeOf(await answer(as(who), sessionId, confirmation('toolu_1', result)))).to.deep.equal(refused);
      }
    }
    // All or nothing, whatever comes first.
    const both = [confirmation('toolu_2', 'allow'), confirmation('toolu_1', 'allow')];
    expect(outcomeOf(await answer(as('none'), sessionId, ...both))).to.deep.equal(refused);
    expect(await stored(sessionId)).to.deep.equal([]);
    expect((await answer(as('none'), sessionId, both[0]!)).status).to.equal(201);
    expect((await answer(as('finance'), sessionId, both[1]!)).status).to.equal(201);
    await service.ended(sessionId);
    expect(mcp.calls.map(({ name }) => name)).to.have.members(['pay', 'mail']);
  });

  it('a call that approvers decide refuses others after 404, and before a repeat and 409', async () => {
    const { sessionId } = await waitingTurn(
      [use('mcp__bank__pay', 'toolu_1'), use('get_weather', 'toolu_2')],
      [pay(['finance']), customTool('get_weather')],
    );
    const allow = confirmation('toolu_1', 'allow');
    const unknown = await answer(as('none'), sessionId, allow, confirmation('toolu_9', 'allow'));
    expect([unknown.status, unknown.body.error.type]).to.deep.equal([404, 'tool_use_not_found']);
    const open = await answer(as('none'), sessionId, customResult('toolu_2', 'sunny'), allow);
    expect(open.status).to.equal(403);
    const first = await answer(as('every'), sessionId, allow);
    expect(first.status).to.equal(201);
    const again = await answer(as('finance'), sessionId, allow);
    expect([again.status, again.body.items]).to.deep.equal([201, first.body.items]);
    for (const repeated of [allow, confirmation('toolu_1', 'deny')]) {
      expect(outcomeOf(await answer(as('none'), sessionId, repeated))[1]).to.equal('not_an_approver');
    }
    const other = await answer(as('finance'), sessionId, confirmation('toolu_1', 'deny'));
    expect([other.status, other.body.error.type]).to.deep.equal([409, 'tool_use_not_pending']);
    // A client's result needs no group.
    expect((await answer(as('none'), sessionId, customResult('toolu_2', 'sunny'))).status).to.equal(201);
    await service.ended(sessionId);
  });

  it('a call that approvers decide can be decided with a token that has the group, as long as its key has it', async () => {
    const { sessionId } = await waitingTurn([use('mcp__bank__pay', 'toolu_1')], [pay(['finance'])]);
    const maker = await service.newKey({ approverGroups: ['finance', 'legal'] });
    const path = `/v1/sessions/${sessionId}/tokens`;
    const lacks = await service.as(keys.legal)('POST', path, {
      scopes: ['answer'],
      approver_groups: ['legal', 'finance'],
    });
    expect(outcomeOf(lacks)).to.deep.equal([403, 'not_an_approver', { approver_groups: ['finance'] }]);
    const star = await as('every')('POST', path, { scopes: ['answer'], approver_groups: ['*'] });
    expect(star.status).to.equal(422);
    const plain = await service.as(maker)('POST', path, { scopes: ['answer'] });
    expect(plain.body).to.have.all.keys('token', 'session_id', 'scopes', 'actor', 'expires_at');
    const allow = confirmation('toolu_1', 'allow');
    expect(outcomeOf(await answer(service.as(plain.body.token as string), sessionId, allow))[1]).to.equal(
      'not_an_approver',
    );
    const made = await service.as(maker)('POST', path, { scopes: ['answer'], approver_groups: ['finance'] });
    expect(made.body.approver_groups).to.deep.equal(['finance']);
    const token = service.as(made.body.token as string);
    // Taken from the key, the group is no longer the token's: within 5 s in each process, at once in a new one.
    const id = await keyIdOf(service.db, maker);
    await service.api('PATCH', `/v1/keys/${id}`, { approver_groups: ['legal'] });
    const fresh = await service.anotherApi();
    const send = async () =>
      fetch(`${fresh.url}/v1/sessions/${sessionId}/events`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${made.body.token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ events: [allow] }),
      });
    expect((await send()).status).to.equal(403);
    await fresh.close();
    await as('every')('PATCH', `/v1/keys/${id}`, { approver_groups: ['finance'] });
    // The first process knows one state of the key or the other.
    await eventually('the token counts', async () => (await answer(token, sessionId, allow)).status === 201);
    await service.ended(sessionId);
  });

  it('approvers of a policy are up to five names of groups, with always_ask only', async () => {
    const create = (policy: object, place: 'configs' | 'default_config' | 'workspace') => {
      const entry =
        place === 'configs'
          ? toolset([{ name: 'pay', permission_policy: policy }])
          : place === 'default_config'
            ? toolset([], { permission_policy: policy })
            : { type: 'workspace', default_config: { permission_policy: policy } };
      return service.api('POST', '/v1/sessions', {
        model_id: 'scripted',
        mcp_servers: [registered.id],
        tools: [entry],
      });
    };
    const places = {
      configs: '/tools/0/configs/0',
      default_config: '/tools/0/default_config',
      workspace: '/tools/0/default_config',
    };
    for (const place of ['configs', 'default_config', 'workspace'] as const) {
      const path = `${places[place]}/permission_policy/approvers`;
      for (const [policy, at] of [
        [{ type: 'always_allow', approvers: ['finance'] }, path],
        [{ type: 'always_ask', approvers: [] }, path],
        [{ type: 'always_ask', approvers: ['a', 'b', 'c', 'd', 'e', 'f'] }, path],
        [{ type: 'always_ask', approvers: ['a', 'a'] }, path],
        [{ type: 'always_ask', approvers: ['*'] }, `${path}/0`],
        [{ type: 'always_ask', approvers: ['a-'] }, `${path}/0`],
      ] as const) {
        const { status, body } = await create(policy, place);
        expect([status, body.error?.details?.errors?.[0].path], JSON.stringify(policy)).to.deep.equal([422, at]);
      }
    }
    const policy = { type: 'always_ask', approvers: ['a', 'b', 'c', 'd', 'e'.repeat(64)] };
    const { status, body } = await create(policy, 'configs');
    expect([status, body.tools[0].configs[0].permission_policy]).to.deep.equal([201, policy]);
  });

  it('a server that requires approvals has its calls asked in every session, whatever its policies say', async () => {
    const { status, body } = await requireApprovals([{ name: 'pay', approvers: ['finance'] }, { name: 'mail' }]);
    expect([status, body.required_approvals]).to.deep.equal([
      200,
      [{ name: 'pay', approvers: ['finance'] }, { name: 'mail' }],
    ]);
    const calls = ['pay', 'mail', 'read'].map((name, n) => use(`mcp__bank__${name}`, `toolu_${n}`));
    const policies: [object[], unknown[], unknown[]][] = [
      // Without tools: only what the server asks for is evaluated.
      [[], ['ask', 'ask', undefined], [['finance'], undefined]],
      [
        [toolset([], { permission_policy: { type: 'always_allow' } })],
        ['ask', 'ask', 'allow'],
        [['finance'], undefined],
      ],
      // An entry without approvers leaves those of the session.
      [
        [
          toolset([
            { name: 'mail', ...ask(['legal']) },
            { name: 'pay', ...ask(['legal']) },
          ]),
        ],
        ['ask', 'ask', 'allow'],
        [['finance'], ['legal']],
      ],
    ];
    for (const [tools, permissions, approvers] of policies) {
      const { sessionId, actions } = await waitingTurn(calls, tools, 2);
      const uses = (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_use');
      expect(uses.map(({ evaluated_permission }) => evaluated_permission)).to.deep.equal(permissions);
      expect(actions.map((action) => action.approvers)).to.deep.equal(approvers);
      expect(mcp.calls.map(({ name }) => name)).to.deep.equal(['read']);
      const denials = ['toolu_0', 'toolu_1'].map((id) => confirmation(id, 'deny'));
      expect((await answer(as('every'), sessionId, ...denials)).status).to.equal(201);
      await service.ended(sessionId);
      mcp.calls.length = 0;
    }
  });

  it('a server that requires approvals for every tool asks for all but those that an entry names with other approvers', async () => {
    await requireApprovals([{ approvers: ['legal'] }, { name: 'pay', approvers: ['finance'] }]);
    const { sessionId, actions } = await waitingTurn(
      ['pay', 'mail', 'read'].map((name, n) => use(`mcp__bank__${name}`, `toolu_${n}`)),
      [],
    );
    expect(actions.map((action) => action.approvers)).to.deep.equal([['finance'], ['legal'], ['legal']]);
    // A change holds from the next turn.
    await requireApprovals([]);
    expect((await requiredActions(service, sessionId, 3)).map((action) => action.approvers)).to.deep.equal([
      ...[['finance'], ['legal'], ['legal']],
    ]);
    expect(outcomeOf(await answer(as('none'), sessionId, confirmation('toolu_0', 'allow')))[0]).to.equal(403);
    const denials = ['toolu_0', 'toolu_1', 'toolu_2'].map((id) => confirmation(id, 'deny'));
    await answer(as('every'), sessionId, ...denials);
    await service.ended(sessionId);
    service.model.on(/Again/, steps(message([use('mcp__bank__pay', 'toolu_4')]), 'Done.'));
    await service.run(sessionId, 'Again');
    expect(mcp.calls.map(({ name }) => name)).to.deep.equal(['pay']);
  });

  it('a server names in required_approvals tools that it offers, each once', async () => {
    const cases: [object, string, unknown][] = [
      [{ required_approvals: [{ name: 'steal' }] }, 'unknown_mcp_tool', ['steal']],
      [{ required_approvals: [{ name: 'mail' }], allowed_tools: ['pay'] }, 'unknown_mcp_tool', ['mail']],
      [
        { required_approvals: [{ name: 'pay' }, { name: 'mail' }, { name: 'pay' }] },
        'validation_error',
        '/required_approvals/2',
      ],
      [{ required_approvals: [{}, { approvers: ['a'] }] }, 'validation_error', '/required_approvals/1'],
      [{ required_approvals: [{ approvers: [] }] }, 'validation_error', '/required_approvals/0/approvers'],
      [{ required_approvals: null }, 'validation_error', '/required_approvals'],
      [
        { required_approvals: Array.from({ length: 51 }, (_, n) => ({ name: `t${n}` })) },
        'validation_error',
        '/required_approvals',
      ],
    ];
    for (const [body, type, expected] of cases) {
      for (const send of [
        () => service.api('PATCH', `/v1/mcp-servers/${registered.id}`, body),
        () => service.api('POST', '/v1/mcp-servers', { name: 'other', url: `${mcp.url}?other`, ...body }),
      ]) {
        const { error } = (await send()).body;
        expect(
          [error?.type, error?.details?.tools ?? error?.details?.errors?.[0].path],
          JSON.stringify(body),
        ).to.deep.equal([type, expected]);
      }
    }
    const { body } = await service.api('GET', `/v1/mcp-servers/${registered.id}`);
    expect(body.required_approvals).to.deep.equal([]);
  });

  it('a tool that requires approvals is called over HTTP only by who may approve it, and its entry is in the log before', async () => {
    await requireApprovals([{ name: 'pay', approvers: ['finance'] }, { name: 'mail' }]);
    const path = (tool: string): string => `/v1/mcp-servers/${registered.id}/tools/${tool}/call`;
    const without = service.as(
      await service.newKey({ scopes: ['mcp_servers:write', 'sessions:write'], approverGroups: ['finance'] }),
    );
    for (const [api, tool, details] of [
      [as('legal'), 'pay', { approvers: ['finance'] }],
      [without, 'pay', { required: 'approvals:write', approvers: ['finance'] }],
      [without, 'mail', { required: 'approvals:write' }],
    ] as const) {
      expect(outcomeOf(await api('POST', path(tool), { input: {} }))).to.deep.equal([403, 'not_an_approver', details]);
    }
    expect(mcp.calls).to.deep.equal([]);
    for (const [api, tool] of [
      [as('finance'), 'pay'],
      [as('every'), 'pay'],
      [as('none'), 'mail'],
      [without, 'read'],
    ] as const) {
      expect((await api('POST', path(tool), { input: {} })).status, tool).to.equal(200);
    }
    expect(mcp.calls.map(({ name }) => name)).to.deep.equal(['pay', 'pay', 'mail', 'read']);
    const { body } = await service.api('GET', `/v1/audit-log?action=callMcpTool&resource_id=${registered.id}`);
    expect(body.items.map(({ outcome }: { outcome: string }) => outcome)).to.deep.equal([
      ...Array<string>(4).fill('ok'),
      ...Array<string>(3).fill('refused'),
    ]);
  });

  it('a turn says whose request began it: of a queued message its own, of a schedule, a copy and to a token nobody', async () => {
    service.model.on(/./, steps('Done.'));
    const sessionId = await service.session();
    const path = `/v1/sessions/${sessionId}`;
    const own = await keyIdOf(service.db, service.key);
    const turnOf = async (api: ApiCall = service.api): Promise<unknown> =>
      (await api('GET', `${path}/turns?limit=1`)).body.items[0].sent_by;
    await service.api('POST', `${path}/messages`, { content: 'Hi' }, { 'X-Actor': 'ada' });
    await service.ended(sessionId);
    expect(await turnOf()).to.deep.equal({ key_id: own, actor: 'ada' });
    const token = service.as(await newToken(service, sessionId, { scopes: ['read', 'send'], actor: 'Zoë' }));
    await token('POST', `${path}/messages`, { content: 'Hi' });
    await service.ended(sessionId);
    expect(await turnOf()).to.deep.equal({ key_id: own, actor: 'Zoë' });
    expect(await turnOf(token)).to.equal(null);
    const [{ id: turnId }] = (await service.api('GET', `${path}/turns?limit=1`)).body.items;
    expect((await token('GET', `${path}/turns/${turnId}`)).body.sent_by).to.equal(null);
    const fork = await service.api('POST', `${path}/fork`);
    const copied = (await service.api('GET', `/v1/sessions/${fork.body.id}/turns`)).body.items;
    expect(copied.map((turn: { sent_by: unknown }) => turn.sent_by)).to.deep.equal([null, null]);

    const asked = await waitingTurn([use('get_weather', 'toolu_1')], [customTool('get_weather')]);
    const queued = { content: 'Next', when_running: 'queue' };
    await as('finance')('POST', `/v1/sessions/${asked.sessionId}/messages`, queued, { 'X-Actor': 'bob' });
    await service.api('POST', `/v1/sessions/${asked.sessionId}/cancel`);
    await service.ended(asked.sessionId);
    await service.api('POST', `/v1/sessions/${asked.sessionId}/queue/release`, undefined, { 'X-Actor': 'carol' });
    await service.ended(asked.sessionId);
    const [released] = (await service.api('GET', `/v1/sessions/${asked.sessionId}/turns?limit=1`)).body.items;
    expect(released.sent_by).to.deep.equal({ key_id: await keyIdOf(service.db, keys.finance), actor: 'bob' });
  });
});
