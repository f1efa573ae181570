import { expect } from 'chai';
import type { Scope } from '../../src/projects/permissions.js';
import { agentTool, callAgent, createAgent } from '../support/child-agents.js';
import type { ApiCall, ApiResponse } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { message, steps, toolUse } from '../support/scripted-model.js';
import { keyIdOf, newToken } from '../support/tokens.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../support/use.js';
import { confirmation, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';

const ask = (...approvers: string[]) => ({
  permission_policy: { type: 'always_ask', ...(approvers.length > 0 && { approvers }) },
});

/** decisions.md "Keys, approvers, audit log": what a turn does for whom. test/api/keys/attacker.test.ts has what a request alone decides. */
describe('an attacker', function () {
  this.timeout(100_000);
  const SECRET = 'the bank knows this';
  const auth = { header: 'authorization', value: `Bearer ${SECRET}` };
  const { mcp, service, registered } = useRegisteredMcp('bank', { tools: [{ name: 'pay' }, { name: 'mail' }] });
  expectAcceptedRequests(service);
  const groups: Record<'finance' | 'legal', ApiCall> = { finance: undefined!, legal: undefined! };
  before(async () => {
    for (const group of ['finance', 'legal'] as const)
      groups[group] = service.as(await service.newKey({ approverGroups: [group] }));
  });
  afterEach(async () => {
    mcp.calls.length = 0;
    await change(`/v1/mcp-servers/${registered.id}`, { required_approvals: [] });
  });

  let number = 0;
  const outcomeOf = ({ status, body }: ApiResponse): unknown[] => [status, body?.error?.type ?? 'ok'];
  const keyOf = async (...scopes: Scope[]): Promise<ApiCall> => service.as(await service.newKey({ scopes }));
  const of = async (id: string) => (await service.api('GET', `/v1/sessions/${id}`)).body;
  const change = async (path: string, body: object, api: ApiCall = service.api) => {
    const answer = await api('PATCH', path, body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    return answer.body;
  };
  const toolset = (policy: object, mcp_server_id = registered.id): object => ({
    ...{ type: 'mcp_toolset', mcp_server_id },
    configs: [{ name: 'pay', ...policy }],
  });
  const agentWith = (tools: object[], more: object = {}): Promise<string> =>
    createAgent(service, `victim-${(number += 1)}`, { mcp_servers: [registered.id], tools, ...more });
  const following = (agent: string, more: object = {}): Promise<string> =>
    service.session({ agent: { id: agent, version: 'live' }, model_id: undefined, ...more });
  const pay = (name = 'mcp__bank__pay', input: object = {}) =>
    toolUse(name, input as Record<string, unknown>, { id: `toolu_${(number += 1)}` });
  /** Sends a message whose turn makes this call; waits until it asks, or the turn has ended. */
  const call = async (sessionId: string, use: ReturnType<typeof pay>) => {
    const word = `Go${(number += 1)}.`;
    service.model.on(new RegExp(word), steps(message([use]), 'Done.'));
    await service.send(sessionId, word);
    // oxlint-disable-next-line typescript/no-explicit-any -- an action of any kind
    let actions: any[] = [];
    await eventually('the call waits, or the turn has ended', async () => {
      const { status, required_actions: asked } = await of(sessionId);
      actions = asked;
      return status !== 'RUNNING' || actions.length > 0;
    });
    return actions;
  };
  const remember = (id: string): object => ({ ...confirmation(id, 'allow'), remember: 'session' });
  const answer = (api: ApiCall, sessionId: string, event: object) => sendAnswers({ api }, sessionId, [event]);
  /** Lets an approval be remembered. */
  const approve = async (sessionId: string, api: ApiCall, use = pay()): Promise<void> => {
    const [action] = await call(sessionId, use);
    expect((await answer(api, sessionId, remember(action.tool_use_id))).status).to.equal(201);
    await service.ended(sessionId);
  };
  /** Whether a person is asked about this call; it does not run if so. */
  const isAsked = async (sessionId: string, use = pay()): Promise<boolean> => {
    const calls = mcp.calls.length;
    const asked = (await call(sessionId, use)).length > 0;
    if (asked) await service.cancel(sessionId);
    if (asked) expect(mcp.calls.length).to.equal(calls);
    return asked;
  };

  describe('who changes agents', () => {
    it('an attacker who changes an agent takes its policies away, and not what a server requires', async () => {
      await change(`/v1/mcp-servers/${registered.id}`, {
        required_approvals: [{ name: 'pay', approvers: ['finance'] }],
      });
      const agent = await agentWith([toolset(ask())]);
      const sessionId = await following(agent);
      await change(`/v1/agents/${agent}`, { tools: [] }, await keyOf('agents:write'));
      const [action] = await call(sessionId, pay());
      expect(action.approvers).to.deep.equal(['finance']);
      expect(outcomeOf(await answer(groups.legal, sessionId, confirmation(action.tool_use_id, 'allow')))).to.deep.equal(
        [403, 'not_an_approver'],
      );
      await service.cancel(sessionId);
      expect(mcp.calls).to.deep.equal([]);
    });

    it('an attacker who changes an agent gives the sessions that follow it no memory, agent or server', async () => {
      const helper = await createAgent(service, `helper-${(number += 1)}`);
      const agent = await createAgent(service, `victim-${(number += 1)}`, {});
      const sessionId = await following(agent, { user: 'ada' });
      const api = await keyOf('agents:write');
      for (const fields of [
        { tools: [{ type: 'memory', of: 'user' }] },
        { tools: [agentTool(helper)] },
        { mcp_servers: [registered.id] },
        { mcp_servers: [registered.id], tools: [toolset(ask())] },
      ])
        expect(outcomeOf(await api('PATCH', `/v1/agents/${agent}`, fields))).to.deep.equal([403, 'insufficient_scope']);
      service.model.on(/What can you do/, 'Nothing.');
      await service.run(sessionId, 'What can you do?');
      const names = (service.model.requests.at(-1)!.body.tools ?? []).map((tool) => (tool as { name: string }).name);
      expect(names).to.deep.equal(['list_files', 'read_file', 'deliver_file']);
    });
  });

  describe('who puts a server in place of another', () => {
    it('an attacker who puts a server in place of another gets neither its sessions, its credential nor what was remembered', async () => {
      mcp.options.auth = auth;
      const credential = { auth: { type: 'BEARER', token: SECRET } };
      await change(`/v1/mcp-servers/${registered.id}`, credential);
      try {
        const agent = await agentWith([toolset(ask())]);
        const sessionId = await following(agent);
        await approve(sessionId, service.api);
        expect(mcp.calls).to.have.length(1);
        const api = await keyOf('mcp_servers:write');
        const elsewhere = { name: 'bank', url: `${mcp.url}?evil` };
        expect(outcomeOf(await api('POST', '/v1/mcp-servers', elsewhere))).to.deep.equal([
          409,
          'mcp_server_name_taken',
        ]);
        expect((await api('DELETE', `/v1/mcp-servers/${registered.id}`)).status).to.equal(204);
        delete mcp.options.auth;
        const { body: evil } = await api('POST', '/v1/mcp-servers', elsewhere);
        expect(evil.name).to.equal('bank');
        expect(mcp.lastHeaders.authorization).to.equal(undefined);
        // The session has the server that is gone: its name leads nowhere.
        await call(sessionId, pay());
        await service.ended(sessionId);
        expect(mcp.calls).to.have.length(1);
        // An author who takes the new one makes it ask again, under the same name.
        const tools = [toolset(ask(), evil.id as string)];
        await change(`/v1/agents/${agent}`, { mcp_servers: [evil.id], tools });
        expect(await isAsked(sessionId)).to.equal(true);
        expect(mcp.lastHeaders.authorization).to.equal(undefined);
        expect((await api('DELETE', `/v1/mcp-servers/${evil.id}`)).status).to.equal(204);
      } finally {
        delete mcp.options.auth;
        const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'bank', url: mcp.url });
        registered.id = body.id as string;
      }
    });
  });

  describe('who wants what others have remembered', () => {
    it('an attacker who wants what others have remembered makes nothing of it that only a group may approve', async () => {
      const sessionId = await following(await agentWith([toolset(ask('finance'))]));
      const [action] = await call(sessionId, pay());
      for (const api of [groups.legal, service.api])
        expect(outcomeOf(await answer(api, sessionId, remember(action.tool_use_id)))).to.deep.equal([
          403,
          'not_an_approver',
        ]);
      const writer = await keyOf('sessions:write');
      expect(outcomeOf(await answer(writer, sessionId, remember(action.tool_use_id)))).to.deep.equal([
        403,
        'insufficient_scope',
      ]);
      expect((await of(sessionId)).remembered_approvals).to.deep.equal([]);
      await service.cancel(sessionId);
      expect(await isAsked(sessionId)).to.equal(true);
    });

    it('an attacker who wants what others have remembered is asked where other people decide, or the server requires it', async () => {
      const agent = await agentWith([toolset(ask())]);
      const sessionId = await following(agent);
      await approve(sessionId, service.api);
      expect(await isAsked(sessionId)).to.equal(false);
      expect(await isAsked(sessionId, pay('mcp__bank__pay', { amount: 9 }))).to.equal(false);
      await change(`/v1/agents/${agent}`, { tools: [toolset(ask('finance'))] });
      expect(await isAsked(sessionId)).to.equal(true);
      await approve(sessionId, groups.finance);
      expect(await isAsked(sessionId)).to.equal(false);
      await change(`/v1/agents/${agent}`, { tools: [toolset(ask('legal'))] });
      expect(await isAsked(sessionId)).to.equal(true);
      await change(`/v1/agents/${agent}`, { tools: [toolset(ask('finance'))] });
      await change(`/v1/mcp-servers/${registered.id}`, { required_approvals: [{ name: 'pay' }] });
      expect(await isAsked(sessionId)).to.equal(true);
      // Another session, another tool, a copy of a token.
      expect(await isAsked(await following(agent))).to.equal(true);
      await change(`/v1/mcp-servers/${registered.id}`, { required_approvals: [] });
      const page = service.as(await newToken(service, sessionId));
      const { body: copy } = await page('POST', `/v1/sessions/${sessionId}/fork`);
      expect(await isAsked(copy.id as string)).to.equal(true);
      expect(await isAsked(sessionId)).to.equal(false);
    });

    it('an attacker who wants what others have remembered keeps it when a key is revoked, until the session forgets it', async () => {
      const sessionId = await following(await agentWith([toolset(ask())]));
      const key = await service.newKey();
      await approve(sessionId, service.as(key));
      expect((await service.api('DELETE', `/v1/keys/${await keyIdOf(service.db, key)}`)).status).to.equal(204);
      expect(await isAsked(sessionId)).to.equal(false);
      const [{ tool_use_id: id }] = (await of(sessionId)).remembered_approvals;
      const page = service.as(await newToken(service, sessionId));
      const forget = { forget_approvals: [id] };
      expect(outcomeOf(await page('PATCH', `/v1/sessions/${sessionId}`, forget))).to.deep.equal([
        403,
        'insufficient_scope',
      ]);
      await change(`/v1/sessions/${sessionId}`, forget);
      expect(await isAsked(sessionId)).to.equal(true);
    });

    it('an attacker who wants what others have remembered gets one memory by it, and none that others decide about', async () => {
      const sessionId = await service.session({
        user: 'ada',
        tools: [
          { type: 'memory', of: 'user', ...ask() },
          { type: 'memory', of: 'project', access: 'read_write', ...ask('finance') },
        ],
      });
      const create = (of: string) =>
        pay('memory', { command: 'create', path: `/memories/${of}/${(number += 1)}.txt`, file_text: 'x' });
      await approve(sessionId, service.api, create('user'));
      expect(await isAsked(sessionId, create('user'))).to.equal(false);
      expect(await isAsked(sessionId, create('project'))).to.equal(true);
    });

    it('an attacker who wants what others have remembered puts no other agent behind the name of one', async () => {
      const first = await createAgent(service, 'helper');
      const parent = await createAgent(service, `victim-${(number += 1)}`, { tools: [agentTool(first, ask())] });
      const sessionId = await following(parent);
      service.model.on(/Help me/, 'Helped.');
      const use = () => callAgent('helper', 'Help me.', `toolu_${(number += 1)}`);
      await approve(sessionId, service.api, use());
      expect(await isAsked(sessionId, use())).to.equal(false);
      expect((await service.api('DELETE', `/v1/agents/${first}`)).status).to.equal(204);
      const second = await createAgent(service, 'helper');
      await change(`/v1/agents/${parent}`, { tools: [agentTool(second, ask())] });
      expect(await isAsked(sessionId, use())).to.equal(true);
    });
  });

  describe('in a child session', () => {
    it('an attacker in a child session gets no more than in its parent', async () => {
      const inner = await agentWith([toolset(ask('finance')), customTool('look_up')]);
      const { name } = (await service.api('GET', `/v1/agents/${inner}`)).body;
      service.model.on(/Ask it/, steps(callAgent(name as string, 'Do it.'), 'Done.'));
      service.model.on(/Do it/, steps(message([pay()]), 'Did it.'));
      const sessionId = await service.session({ tools: [agentTool(inner)], user: 'ada' });
      await service.send(sessionId, 'Ask it');
      const [action] = await requiredActions(service, sessionId);
      const child = action.session_id as string;
      const allow = confirmation(action.tool_use_id, 'allow');
      expect(await of(child)).to.deep.include({ user: 'ada', parent_session_id: sessionId, budget: null });

      const page = service.as(await newToken(service, sessionId));
      const path = `/v1/sessions/${child}`;
      const attempts: [string, ApiCall, string, string, object | undefined, unknown[]][] = [
        ['approve without the group', page, 'POST', '/events', { events: [allow] }, [403, 'not_an_approver']],
        ['approve with another group', groups.legal, 'POST', '/events', { events: [allow] }, [403, 'not_an_approver']],
        [
          ...(['approve with a key that writes', await keyOf('sessions:write'), 'POST', '/events'] as const),
          ...([{ events: [allow] }, [403, 'insufficient_scope']] as [object, unknown[]]),
        ],
        [
          ...(['remember', groups.finance, 'POST', '/events'] as const),
          ...([{ events: [remember(action.tool_use_id)] }, [422, 'validation_error']] as [object, unknown[]]),
        ],
        [
          'approve at the parent',
          groups.finance,
          'POST',
          '/../' + sessionId + '/events',
          { events: [allow] },
          [404, 'tool_use_not_found'],
        ],
        ['give it a message', page, 'POST', '/messages', { content: 'More.' }, [409, 'child_session']],
        ['copy it, out of the budget', page, 'POST', '/fork', undefined, [404, 'session_not_found']],
        ['read its workspace', page, 'GET', '/workspace/files', undefined, [404, 'session_not_found']],
        ['give it a budget', service.api, 'PATCH', '', { budget: null }, [409, 'child_session']],
        ['give it another agent', service.api, 'PATCH', '', { agent: inner }, [409, 'child_session']],
        ['make a token for it', service.api, 'POST', '/tokens', { scopes: ['send'] }, [409, 'child_session']],
        ['delete it', service.api, 'DELETE', '', undefined, [409, 'child_session']],
      ];
      for (const [what, api, method, rest, body, expected] of attempts)
        expect(outcomeOf(await api(method, path + rest, body)), what).to.deep.equal(expected);

      // A token that a copy of the parent has reaches none of its children.
      const { body: copy } = await page('POST', `/v1/sessions/${sessionId}/fork`, {
        before_turn_id: (await of(sessionId)).last_turn_id,
      });
      expect(outcomeOf(await service.as(copy.token.token)('GET', path))).to.deep.equal([404, 'session_not_found']);
      expect((await page('GET', path)).status).to.equal(200);

      const withGroup = { scopes: ['answer'], approver_groups: ['finance'] };
      const { body: made } = await groups.finance('POST', `/v1/sessions/${sessionId}/tokens`, withGroup);
      expect((await answer(service.as(made.token), child, allow)).status).to.equal(201);
      await service.ended(sessionId);
      expect(mcp.calls.map((one) => one.name)).to.deep.equal(['pay']);
    });
  });
});
