import { expect } from 'chai';
import { newAgent } from '../support/agents.js';
import { agentTool, callAgent, createAgent } from '../support/child-agents.js';
import { eventually } from '../support/eventually.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { sampleOf } from '../support/metrics.js';
import { expectAcceptedRequests, useTurnService } from '../support/use.js';
import { confirmation, requiredActions, sendAnswers } from '../support/waiting-turns.js';

type Json = Record<string, unknown>;
interface Request {
  tools: { name: string }[];
  system: Json[];
}
const CREATED = 'memory_commands_total{command="create",outcome="ok"}';

/** docs/memory.md: what an agent keeps between sessions. */
describe('the tool memory', () => {
  const service = useTurnService({ own: 'metrics are read from the newest service of a process' });
  expectAcceptedRequests(service);

  let users = 0;
  const newUser = (): string => `user-${(users += 1)}`;
  const session = (user: string | null, tools: object[] = [{ type: 'memory', of: 'user' }]): Promise<string> =>
    service.session({ thinking_enabled: false, tools, ...(user !== null && { user }) });
  /** The results of one turn, in which the model makes these calls, each in a step of its own. */
  const run = async (sessionId: string, ...commands: Json[]): Promise<Json[]> => {
    service.model.on(/Go/, steps(...commands.map((input) => toolUse('memory', input)), 'Done.'));
    await service.send(sessionId, 'Go');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    return (await service.history(sessionId))
      .filter(({ type }) => type === 'agent.tool_result')
      .slice(-commands.length) as Json[];
  };
  const path = '/memories/user/notes/a.md';

  it('the tool memory keeps files of a user between sessions, and of nobody else', async () => {
    const [jane, joe] = [newUser(), newUser()];
    const created0 = await sampleOf(service, CREATED);
    const [created, again, edited] = await run(
      await session(jane),
      { command: 'create', path, file_text: 'likes tea\n' },
      { command: 'create', path, file_text: 'likes coffee' },
      { command: 'str_replace', path, old_str: 'tea', new_str: 'green tea' },
    );
    expect(created).to.include({ is_error: false, content: `Created "${path}".` });
    expect((created!.memory as Json).version).to.equal(1);
    expect(again).to.include({ is_error: true }).and.not.have.property('memory');
    expect(edited!.memory).to.deep.equal({ memory_id: (created!.memory as Json).memory_id, version: 2 });
    const [seen, root] = await run(
      await session(jane),
      { command: 'view', path },
      { command: 'view', path: '/memories' },
    );
    expect(seen).to.include({ is_error: false, content: '     1\tlikes green tea' }).and.not.have.property('memory');
    expect(root!.content).to.equal('/memories/user/\n/memories/user/notes/');
    const [other, empty] = await run(
      await session(joe),
      { command: 'view', path },
      { command: 'view', path: '/memories' },
    );
    expect(other).to.include({ is_error: true, content: `"${path}" is not there.` });
    expect(empty!.content).to.equal('/memories/user/');
    expect(await sampleOf(service, CREATED)).to.equal((created0 || 0) + 1);
  });

  it('the tool memory is offered after those of the session, and its prompt names the folders and not what they hold', async () => {
    const user = newUser();
    const tools = [{ type: 'memory', of: 'user' }, { type: 'memory', of: 'project' }, { type: 'wait' }];
    const first = await session(user, tools);
    await run(first, { command: 'create', path, file_text: 'x' });
    const requests = service.model.requests.map(({ body }) => body as unknown as Request);
    const names = requests.at(-1)!.tools.map(({ name }) => name);
    expect(names.slice(-2)).to.deep.equal(['memory', 'wait']);
    const prompts = requests.map(({ system }) => JSON.stringify(system));
    expect(new Set(prompts).size).to.equal(1);
    expect(prompts[0]).to.include('/memories/user: of the user for whom you work').and.include('read and write it');
    expect(prompts[0]).to.include('/memories/project').and.include('only read it');
    await run(await service.session({ thinking_enabled: false }), { command: 'view', path: '/memories' });
    const plain = service.model.requests.at(-1)!.body as unknown as Request;
    expect(plain.tools.map(({ name }) => name)).not.to.include('memory');
    expect(JSON.stringify(plain.system)).not.to.include('/memories');
  });

  it('the tool memory runs commands of a step in their order, and writes nothing that can only be read', async () => {
    const sessionId = await session(newUser(), [
      { type: 'memory', of: 'user' },
      { type: 'memory', of: 'project' },
    ]);
    const calls = [
      { command: 'create', path, file_text: 'a' },
      { command: 'insert', path, insert_line: 1, insert_text: 'b' },
      { command: 'rename', old_path: '/memories/user/notes', new_path: '/memories/user/n' },
      { command: 'view', path: '/memories/user/n/a.md' },
      { command: 'create', path: '/memories/project/x', file_text: '' },
      { command: 'delete', path: '/memories/user/n' },
      { command: 'view', path: '/memories/user' },
      { command: 'create', path: 1 },
    ];
    service.model.on(
      /Go/,
      steps(
        calls.map((input) => toolUse('memory', input)),
        'Done.',
      ),
    );
    await service.send(sessionId, 'Go');
    await service.ended(sessionId);
    const results = (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_result') as Json[];
    expect(results.map(({ is_error }) => is_error)).to.deep.equal([
      false,
      false,
      false,
      false,
      true,
      false,
      false,
      true,
    ]);
    expect(results[3]!.content).to.equal('     1\ta\n     2\tb');
    expect(results[4]!.content).to.include('can only be read');
    expect(results[6]!.content).to.equal('(The folder is empty.)');
    expect(results[7]!.content).to.include('Wrong input');
  });

  it('the tool memory asks a person for every command but view, where the entry says so', async () => {
    const sessionId = await session(newUser(), [
      { type: 'memory', of: 'user', permission_policy: { type: 'always_ask' } },
      { type: 'memory', of: 'project', access: 'read_write' },
    ]);
    const create = { command: 'create', path, file_text: 'a' };
    service.model.on(
      /Go/,
      steps(
        [
          toolUse('memory', { command: 'view', path: '/memories' }, { id: 'toolu_view' }),
          toolUse('memory', { command: 'create', path: '/memories/user', file_text: '' }, { id: 'toolu_wrong' }),
          toolUse(
            'memory',
            { command: 'create', path: `/memories/project/${sessionId}`, file_text: '' },
            { id: 'toolu_free' },
          ),
          toolUse('memory', create, { id: 'toolu_ask' }),
        ],
        'Done.',
      ),
    );
    await service.send(sessionId, 'Go');
    const actions = await requiredActions(service, sessionId);
    expect(actions.map((action) => (action as unknown as Json).tool_use_id)).to.deep.equal(['toolu_ask']);
    await sendAnswers(service, sessionId, [confirmation('toolu_ask', 'allow')]);
    await service.ended(sessionId);
    const events = (await service.history(sessionId)) as Json[];
    const permissions = events.filter(({ type }) => type === 'agent.tool_use').map((one) => one.evaluated_permission);
    expect(permissions).to.deep.equal(['allow', 'allow', 'allow', 'ask']);
    const result = events.find(({ type, tool_use_id }) => type === 'agent.tool_result' && tool_use_id === 'toolu_ask');
    expect(result).to.include({ is_error: false });
  });

  it('the tool memory has those decide whom its entry names, also about what a person changes and remembers', async () => {
    const finance = service.as(await service.newKey({ approverGroups: ['finance'] }));
    const ask = { type: 'always_ask', approvers: ['finance'] };
    const sessionId = await session(newUser(), [
      { type: 'memory', of: 'user', permission_policy: { type: 'always_ask' } },
      { type: 'memory', of: 'project', access: 'read_write', permission_policy: ask },
    ]);
    const create = (of: string, n: number): Json => ({
      command: 'create',
      path: `/memories/${of}/${sessionId}-${n}`,
      file_text: '',
    });
    const call = async (...inputs: Json[]): Promise<Json[]> => {
      service.model.on(
        /Go/,
        steps(
          inputs.map((input) => toolUse('memory', input)),
          'Done.',
        ),
      );
      await service.send(sessionId, 'Go');
      return requiredActions(service, sessionId, inputs.length);
    };
    const allow = (action: Json | undefined, more: Json = {}): object => ({
      ...confirmation(action!.tool_use_id as string, 'allow'),
      ...more,
    });
    const [own, shared] = await call(create('user', 1), create('project', 1));
    expect([own!.approvers, own!.title]).to.deep.equal([undefined, 'Change what is remembered']);
    expect(shared!.approvers).to.deep.equal(['finance']);
    const refused = await sendAnswers(service, sessionId, [allow(shared)]);
    expect([refused.status, refused.body.error.type]).to.deep.equal([403, 'not_an_approver']);
    // A person who may decide about the one memory writes nothing into the other.
    const moved = await sendAnswers(service, sessionId, [allow(own, { input: create('project', 2) })]);
    expect([moved.status, moved.body.error.details.errors[0].path]).to.deep.equal([422, '/events/0/input']);
    await sendAnswers(service, sessionId, [allow(own, { input: create('user', 3) })]);
    await sendAnswers({ api: finance }, sessionId, [allow(shared, { remember: 'session' })]);
    await service.ended(sessionId);

    // What is remembered of the one memory is not of the other, whose approvers differ.
    service.model.on(
      /Go/,
      steps([toolUse('memory', create('project', 4)), toolUse('memory', create('user', 4))], 'Done.'),
    );
    await service.send(sessionId, 'Go');
    const [asked] = (await requiredActions(service, sessionId)) as Json[];
    expect((asked!.input as Json).path).to.equal(create('user', 4).path);
    await sendAnswers(service, sessionId, [allow(asked)]);
    await service.ended(sessionId);
    const uses = ((await service.history(sessionId)) as Json[]).filter(({ type }) => type === 'agent.tool_use');
    expect(uses.map((use) => use.evaluated_permission)).to.deep.equal(['ask', 'ask', 'remembered', 'ask']);
    const [root] = await run(sessionId, { command: 'view', path: '/memories' });
    for (const [of, n] of [
      ['project', 1],
      ['user', 3],
      ['project', 4],
      ['user', 4],
    ] as const)
      expect(root!.content).to.include(create(of, n).path);
    expect(root!.content).not.to.include(create('user', 1).path);
  });

  it('the tool memory keeps what was written when the turn is cancelled, and a fork reaches the same files', async () => {
    const sessionId = await session(newUser());
    const gate = service.model.gate();
    const create = toolUse('memory', { command: 'create', path, file_text: 'kept' });
    service.model.on(/Go/, steps(create, text('', { before: { 0: wait(gate) } })));
    await service.send(sessionId, 'Go');
    await eventually('the command has run', async () =>
      (await service.history(sessionId)).some(({ type }) => type === 'agent.tool_result'),
    );
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.cancelled' });
    gate.open();
    const fork = (await service.api('POST', `/v1/sessions/${sessionId}/fork`)).body as Json;
    const [seen] = await run(fork.id as string, { command: 'view', path });
    expect(seen!.content).to.equal('     1\tkept');
  });

  describe('with agents', () => {
    const agentWith = async (tools: object[]): Promise<string> =>
      (await newAgent(service.api, { model_id: 'scripted', tools })).id as string;
    const ofAgent = async (agent: unknown, user: string | null): Promise<string> =>
      (await service.api('POST', '/v1/sessions', { agent, ...(user !== null && { user }) })).body.id as string;
    const TOOLS = [
      { type: 'memory', of: 'agent', access: 'read_write' },
      { type: 'memory', of: 'agent_user' },
    ];
    const create = (of: string, file_text: string): Json => ({
      command: 'create',
      path: `/memories/${of}/a`,
      file_text,
    });
    const view = (of: string): Json => ({ command: 'view', path: `/memories/${of}/a` });
    const shownTo = async (sessionId: string): Promise<unknown[]> =>
      (await run(sessionId, view('agent'), view('agent_user'))).map(({ is_error, content }) =>
        is_error === true ? null : (content as string).slice(7),
      );

    it('the tool memory keeps what is of an agent for all its users, and what is of a user with it apart', async () => {
      const [one, other] = [await agentWith(TOOLS), await agentWith(TOOLS)];
      const [jane, joe] = [newUser(), newUser()];
      await run(await ofAgent(one, jane), create('agent', 'of one'), create('agent_user', 'of jane with one'));
      expect(await shownTo(await ofAgent(one, jane))).to.deep.equal(['of one', 'of jane with one']);
      expect(await shownTo(await ofAgent(one, joe))).to.deep.equal(['of one', null]);
      expect(await shownTo(await ofAgent(other, jane))).to.deep.equal([null, null]);
      const listed = (await service.api('GET', `/v1/memories?agent_id=${one}`)).body.items as Json[];
      expect(listed.map(({ user, agent_id }) => [user, agent_id])).to.deep.equal([
        [jane, one],
        [null, one],
      ]);
      const put = await service.api('POST', '/v1/memories', { user: jane, agent_id: one });
      expect(put.body).to.deep.equal(listed[0]);
      const missing = await service.api('POST', '/v1/memories', { agent_id: 'agent_x' });
      expect([missing.status, missing.body.error.type]).to.deep.equal([404, 'agent_not_found']);

      // A fork with another agent reaches that one's memories.
      const sessionId = await ofAgent(one, jane);
      await run(sessionId, view('agent'));
      const fork = await service.api('POST', `/v1/sessions/${sessionId}/fork`, { agent: other });
      expect(await shownTo(fork.body.id as string)).to.deep.equal([null, null]);
      const same = await service.api('POST', `/v1/sessions/${sessionId}/fork`, {});
      expect(await shownTo(same.body.id as string)).to.deep.equal(['of one', 'of jane with one']);
    });

    it('the tool memory reaches in a child session what is of its own agent, and of the user of the parent', async () => {
      const helper = await createAgent(service, 'helper', { tools: TOOLS });
      const tools = [agentTool(helper), { type: 'memory', of: 'user' }];
      const user = newUser();
      service.model.on(
        /Note/,
        steps(
          toolUse('memory', create('agent', 'of helper')),
          toolUse('memory', create('agent_user', 'of both')),
          'Noted.',
        ),
      );
      service.model.on(/Look/, steps(toolUse('memory', { command: 'view', path: '/memories' }), 'Looked.'));
      const delegate = async (sessionId: string, task: string): Promise<Json[]> => {
        service.model.on(/Go/, steps(callAgent('helper', task), 'Done.'));
        const events = (await service.run(sessionId, 'Go')) as Json[];
        const { child_session_id: id } = events.find(({ type }) => type === 'agent.delegated')!;
        return ((await service.history(id as string)) as Json[]).filter(({ type }) => type === 'agent.tool_result');
      };
      const parent = await session(user, tools);
      expect((await delegate(parent, 'Note')).map(({ is_error }) => is_error)).to.deep.equal([false, false]);
      const shown = await shownTo(await ofAgent(helper, user));
      expect(shown).to.deep.equal(['of helper', 'of both']);
      const [own] = await run(parent, { command: 'view', path: '/memories' });
      expect(own!.content).to.equal('/memories/user/');
      // A parent without a user gives its child none.
      const [seen] = await delegate(await session(null, [agentTool(helper)]), 'Look');
      expect(seen!.content).to.equal('/memories/agent/\n/memories/agent/a\t9');
    });

    it('the tool memory needs what its agent’s entries are of, and a later version’s is left out', async () => {
      const agent = await agentWith(TOOLS);
      const refused = await service.api('POST', '/v1/sessions', { agent });
      expect([refused.status, refused.body.error.details.errors[0].path]).to.deep.equal([422, '/agent']);
      const own = await service.api('POST', '/v1/sessions', { model_id: 'scripted', user: 'jane', tools: TOOLS });
      expect([own.status, own.body.error.details.errors[0].path]).to.deep.equal([422, '/tools/0/of']);

      const plain = await agentWith([{ type: 'memory', of: 'agent' }]);
      const sessionId = await ofAgent({ id: plain, version: 'live' }, null);
      const patched = await service.api('PATCH', `/v1/sessions/${sessionId}`, { agent });
      expect([patched.status, patched.body.error.details.errors[0].path]).to.deep.equal([422, '/agent']);
      await service.api('PATCH', `/v1/agents/${plain}`, { tools: TOOLS });
      const [root] = await run(sessionId, { command: 'view', path: '/memories' });
      expect(root!.content).to.equal('/memories/agent/');
    });
  });
});
