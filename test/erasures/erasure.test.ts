import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { forgetErasedUsers } from '../../src/erasures/store.js';
import { purgeSessions } from '../../src/sessions/purge.js';
import { agentTool, callAgent, createAgent } from '../support/child-agents.js';
import { eventually } from '../support/eventually.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { expectAcceptedRequests, useTurnService } from '../support/use.js';
import { confirmation, requiredActions, sendAnswers } from '../support/waiting-turns.js';

type Json = Record<string, unknown>;

/** docs/memory.md "Erasing a person". */
describe('the erasure of a person', () => {
  const service = useTurnService();
  expectAcceptedRequests(service);

  const post = async (path: string, body: object | undefined, status = 201): Promise<Json> => {
    const answer = await service.api('POST', path, body);
    expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).to.equal(status);
    return answer.body as Json;
  };
  const newUser = (): string => `user-${randomUUID()}`;
  const session = (user: string, more: object = {}): Promise<string> =>
    service.session({ thinking_enabled: false, user, metadata: { customer: user }, ...more });
  const done = async (id: unknown): Promise<Json> => {
    let erasure: Json = {};
    await eventually('the erasure is done', async () => {
      erasure = (await service.api('GET', `/v1/erasures/${id as string}`)).body as Json;
      return erasure.status === 'done';
    });
    return erasure;
  };
  const statusOf = async (path: string): Promise<number> => (await service.api('GET', path)).status;
  const turn = async (sessionId: string, ...replies: Parameters<typeof steps>): Promise<void> => {
    service.model.on(/Go/, steps(...replies));
    await service.send(sessionId, 'Go');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
  };
  const upload = async (name: string): Promise<string> => {
    const form = new FormData();
    form.set('file', new Blob(['content']), name);
    const headers = { Authorization: `Bearer ${service.key}` };
    return ((await (await fetch(`${service.url}/v1/files`, { method: 'POST', headers, body: form })).json()) as Json)
      .id as string;
  };

  it('the erasure of a person deletes all that is theirs, and nothing of anybody else', async () => {
    const [jane, joe] = [newUser(), newUser()];
    const tools = [{ type: 'memory', of: 'user' }];
    const ids: Record<string, { session: string; memory: string; file: string; attached: string; schedule: string }> =
      {};
    for (const user of [jane, joe]) {
      const sessionId = await session(user, { tools });
      const attached = await upload(`${user}.txt`);
      service.model.on(
        /Go/,
        steps(
          toolUse('memory', { command: 'create', path: '/memories/user/a', file_text: user }),
          toolUse('deliver_file', { filename: 'a.txt', content: user }),
          'Done.',
        ),
      );
      await post(`/v1/sessions/${sessionId}/messages`, { content: 'Go', files: [attached] });
      await service.ended(sessionId);
      const memory = ((await service.api('GET', `/v1/memories?user=${user}`)).body.items as Json[])[0]!.id as string;
      const file = ((await service.api('GET', `/v1/files?session_id=${sessionId}`)).body.items as Json[])[0]!
        .id as string;
      const schedule = (
        await post('/v1/schedules', {
          cron: '0 8 1 1 *',
          target: { type: 'new_session', session: { model_id: 'scripted', user } },
          message: { content: `For ${user}` },
        })
      ).id as string;
      ids[user] = { session: sessionId, memory, file, attached, schedule };
    }
    const begun = await post('/v1/erasures', { user: jane }, 202);
    expect(begun).to.include({ user: jane, status: 'running', finished_at: null });
    const erasure = await done(begun.id);
    expect(erasure).to.include({ user: jane, sessions: 1, memories: 1, files: 1, credentials: 0 });
    const paths = ({ session, memory, file, attached, schedule }: (typeof ids)[string]): string[] => [
      `/v1/sessions/${session}`,
      `/v1/memories/${memory}`,
      `/v1/files/${file}`,
      `/v1/schedules/${schedule}`,
      `/v1/files/${attached}`,
    ];
    const statuses = (user: string): Promise<number[]> => Promise.all(paths(ids[user]!).map(statusOf));
    expect(await statuses(jane)).to.deep.equal([404, 404, 404, 404, 200]);
    expect(await statuses(joe)).to.deep.equal([200, 200, 200, 200, 200]);
    const listed = (await service.api('GET', '/v1/erasures')).body.items as Json[];
    expect(listed[0]).to.deep.equal(erasure);

    expect(await done((await post('/v1/erasures', { user: joe, attached_files: true }, 202)).id)).to.include({
      files: 2,
    });
    expect(await statuses(joe)).to.deep.equal([404, 404, 404, 404, 404]);
  });

  it('the erasure of a person ends open turns, empties queues, and takes nothing more for these sessions', async () => {
    const user = newUser();
    const gate = service.model.gate();
    const sessionId = await session(user);
    service.model.on(/Go/, text('', { before: { 0: wait(gate) } }));
    await service.send(sessionId, 'Go');
    await eventually('the model is called', () => service.model.requests.length > 0);
    await post(`/v1/sessions/${sessionId}/messages`, { content: 'Later', when_running: 'queue' });
    const begun = await post('/v1/erasures', { user }, 202);
    const repeat = await post('/v1/erasures', { user, attached_files: true }, 200);
    expect(repeat.id).to.equal(begun.id);
    const { body: log } = await service.api('GET', `/v1/audit-log?resource_id=${begun.id as string}`);
    expect(log.items, 'a repeat leaves no entry').to.have.length(1);
    const refusals: [string, object | undefined][] = [
      [`/v1/sessions/${sessionId}/messages`, { content: 'Go' }],
      [`/v1/sessions/${sessionId}/messages`, { content: 'Go', when_running: 'steer' }],
      [`/v1/sessions/${sessionId}/continue`, undefined],
      [`/v1/sessions/${sessionId}/queue/release`, undefined],
      [`/v1/sessions/${sessionId}/fork`, {}],
      [`/v1/sessions/${sessionId}/tokens`, { scopes: ['read'] }],
    ];
    for (const [path, body] of refusals) {
      const { status, body: answer } = await service.api('POST', path, body);
      expect([status, answer.error.type], path).to.deep.equal([404, 'session_not_found']);
    }
    const later = await session(user);
    expect(await done(begun.id)).to.include({ sessions: 1 });
    gate.open();
    expect(await statusOf(`/v1/sessions/${sessionId}`)).to.equal(404);
    expect(await statusOf(`/v1/sessions/${later}`)).to.equal(200);
    await turn(later, 'Done.');
  });

  it('the erasure of a person without anything is done at once, and forgets its user after 30 days', async () => {
    const user = newUser();
    const erasure = await post('/v1/erasures', { user }, 202);
    expect(erasure).to.include({ status: 'done', user, sessions: 0 });
    expect(erasure.finished_at).to.be.a('string');
    const again = await post('/v1/erasures', { user }, 202);
    expect(again.id).not.to.equal(erasure.id);
    await service.db.query("UPDATE erasures SET finished_at = finished_at - interval '30 days' WHERE id = $1", [
      erasure.id,
    ]);
    expect(await forgetErasedUsers(service.db, 100)).to.equal(1);
    expect((await service.api('GET', `/v1/erasures/${erasure.id as string}`)).body.user).to.equal(null);
  });

  it('the erasure of a person forgets their metadata in usage, and keeps the sums', async () => {
    const [jane, joe] = [newUser(), newUser()];
    for (const user of [jane, joe]) await turn(await session(user), 'Done.');
    const groups = async (): Promise<Record<string, number>> => {
      const { body } = await service.api('GET', '/v1/usage?group_by=metadata.customer&limit=100');
      return Object.fromEntries(
        (body.items as { group: string; turns: number }[]).map(({ group, turns }) => [group, turns]),
      );
    };
    const before = await groups();
    expect(before).to.include({ [jane]: 1, [joe]: 1 });
    await done((await post('/v1/erasures', { user: jane }, 202)).id);
    const after = await groups();
    expect(after).not.to.have.property(jane);
    expect(after).to.include({ [joe]: 1, null: (before.null ?? 0) + 1 });
  });

  it('the erasure of a person forgets them in usage, also where their sessions were gone before, and not those that come later', async () => {
    const jane = newUser();
    const usersOf = async (): Promise<Record<string, number>> => {
      const { body } = await service.api('GET', '/v1/usage?group_by=user&limit=100');
      return Object.fromEntries(
        (body.items as { group: string; turns: number }[]).map(({ group, turns }) => [group, turns]),
      );
    };
    const gone = await session(jane, { metadata: {} });
    await turn(gone, 'Done.');
    await service.api('DELETE', `/v1/sessions/${gone}`);
    await service.db.query("UPDATE sessions SET deleted_at = deleted_at - interval '1 day' WHERE id = $1", [gone]);
    await purgeSessions(service.db, 100);
    const before = await usersOf();
    expect(before[jane]).to.equal(1);
    const begun = await post('/v1/erasures', { user: jane }, 202);
    expect(begun.status).to.equal('running');
    await turn(await session(jane), 'Done.');
    expect(await done(begun.id)).to.include({ sessions: 0 });
    expect(await usersOf()).to.include({ [jane]: 1, null: (before.null ?? 0) + 1 });
    expect(await done((await post('/v1/erasures', { user: jane }, 202)).id)).to.include({ sessions: 1 });
    expect(await usersOf()).not.to.have.property(jane);
  });

  it('the erasure of a person deletes child sessions with their parents, also those that an open turn began later', async () => {
    const user = newUser();
    const agent = await createAgent(service, `helper-${user.slice(-8)}`, { tools: [{ type: 'memory', of: 'user' }] });
    const parent = await session(user, { tools: [agentTool(agent)] });
    const create = { command: 'create', path: '/memories/user/a', file_text: user };
    service.model.on(/Note/, steps(toolUse('memory', create), 'Noted.'));
    service.model.on(/Go/, steps(callAgent(`helper-${user.slice(-8)}`, 'Note'), 'Done.'));
    const events = (await service.run(parent, 'Go')) as Json[];
    const child = events.find(({ type }) => type === 'agent.delegated')!.child_session_id as string;
    await service.db.query("UPDATE sessions SET created_at = created_at + interval '1 day' WHERE id = $1", [child]);
    expect(await done((await post('/v1/erasures', { user }, 202)).id)).to.include({ sessions: 1, memories: 1 });
    const ids = [parent, child];
    expect(await service.db.query('SELECT id FROM sessions WHERE id = ANY($1)', [ids])).to.deep.equal([]);
    expect(await service.db.query('SELECT id FROM events WHERE session_id = ANY($1)', [ids])).to.deep.equal([]);
  });

  it('the erasure of a person forgets what they approved, and copies by their tokens with the family', async () => {
    const user = newUser();
    const ask = { type: 'memory', of: 'user', permission_policy: { type: 'always_ask' } };
    const sessionId = await session(user, { tools: [ask] });
    const create = { command: 'create', path: '/memories/user/a', file_text: user };
    service.model.on(/Go/, steps(toolUse('memory', create, { id: 'toolu_a' }), 'Done.'));
    await service.send(sessionId, 'Go');
    await requiredActions(service, sessionId);
    await sendAnswers(service, sessionId, [{ ...confirmation('toolu_a', 'allow'), remember: 'session' }]);
    await service.ended(sessionId);
    const { token } = await post(`/v1/sessions/${sessionId}/tokens`, { scopes: ['fork', 'read'] });
    const fork = await service.as(token as string)('POST', `/v1/sessions/${sessionId}/fork`, {});
    const left = async (): Promise<number[]> => {
      const [row] = await service.db.query<Record<string, number>[]>(
        `SELECT (SELECT count(*) FROM remembered_approvals WHERE session_id = $1)::integer AS approvals,
           (SELECT count(*) FROM session_families WHERE id = $1)::integer AS families,
           (SELECT count(*) FROM family_sessions WHERE session_id = ANY($2))::integer AS members`,
        [sessionId, [sessionId, fork.body.id]],
      );
      return Object.values(row!);
    };
    expect(await left()).to.deep.equal([1, 1, 2]);
    expect(await done((await post('/v1/erasures', { user }, 202)).id)).to.include({ sessions: 2 });
    expect(await left()).to.deep.equal([0, 0, 0]);
    const { body: log } = await service.api('GET', '/v1/audit-log?action=createErasure&limit=100');
    expect(JSON.stringify(log)).not.to.include(user);
  });

  it('the erasure of a person needs its own permission, a user, and names one that exists', async () => {
    const reader = service.as(await service.newKey({ scopes: ['sessions:write', 'memories:write'] }));
    expect((await reader('POST', '/v1/erasures', { user: 'x' })).body.error.details.required).to.equal('users:erase');
    expect((await service.api('POST', '/v1/erasures', {})).status).to.equal(422);
    expect((await service.api('POST', '/v1/erasures', { user: 'a b' })).status).to.equal(422);
    expect((await service.api('GET', '/v1/erasures/era_x')).body.error.type).to.equal('erasure_not_found');
  });
});
