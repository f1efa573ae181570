import { expect } from 'chai';
import { useService } from '../support/use.js';

const POLICY = { permission_policy: { type: 'always_ask' } };
const custom = (name: string) => ({ type: 'custom', name, description: 'A tool.', input_schema: { type: 'object' } });

describe('the entry of a workspace in the tools of a session', () => {
  const service = useService({ config: { sandboxProvider: 'bubblewrap' } });
  const create = (tools: object[], body: object = {}) =>
    service.api('POST', '/v1/sessions', { model_id: 'test-model', tools, ...body });
  const errorsOf = async (tools: object[]): Promise<unknown[]> => {
    const { status, body } = await create(tools);
    return status === 201 ? [] : body.error.details.errors.map(({ path }: { path: string }) => path);
  };

  it('the entry of a workspace in the tools of a session is returned as it was given, beside an empty workspace', async () => {
    const tools = [
      { type: 'workspace', configs: [{ name: 'bash', ...POLICY }], default_config: POLICY },
      custom('grep'),
    ];
    const { status, body } = await create(tools);
    expect(status).to.equal(201);
    expect(body.tools).to.deep.equal(tools);
    const empty = { version: 0, size_bytes: 0, file_count: 0, updated_at: null };
    expect(body.workspace).to.deep.equal(empty);
    expect((await service.api('GET', `/v1/sessions/${body.id}`)).body.workspace).to.deep.equal(empty);
    const { body: forked } = await service.api('POST', `/v1/sessions/${body.id}/fork`, {});
    expect(forked.workspace).to.deep.equal(empty);
    const { body: list } = await service.api('GET', '/v1/sessions');
    expect(list.items.map(({ workspace }: { workspace: unknown }) => workspace)).to.deep.equal([empty, empty]);
    expect((await service.api('DELETE', `/v1/sessions/${body.id}`)).status).to.equal(204);
    const [{ count }] = await service.db.query('SELECT count(*)::integer FROM workspaces WHERE session_id = $1', [
      body.id,
    ]);
    expect(count).to.equal(0);
  });

  it('the entry of a workspace in the tools of a session is one, names its own tools once each, and takes their names from custom tools', async () => {
    const workspace = (...names: string[]) => ({
      type: 'workspace',
      configs: names.map((name) => ({ name, ...POLICY })),
    });
    expect(await errorsOf([workspace(), workspace()])).to.deep.equal(['/tools/1']);
    expect(await errorsOf([workspace('bash', 'glob')])).to.deep.equal(['/tools/0/configs/1/name']);
    expect(await errorsOf([workspace('edit', 'read', 'edit')])).to.deep.equal(['/tools/0/configs/2/name']);
    expect(await errorsOf([{ type: 'workspace', other: 1 }])).to.deep.equal(['/tools/0/other']);
    for (const name of ['bash', 'read', 'write', 'edit']) {
      expect(await errorsOf([custom(name), workspace()])).to.deep.equal(['/tools/0/name']);
      expect(await errorsOf([custom(name)])).to.deep.equal([]);
    }
  });
});

describe('a service that runs no commands', () => {
  const service = useService();
  const session = { model_id: 'test-model', tools: [{ type: 'workspace' }] };
  const schedule = {
    at: new Date(Date.now() + 86_400_000).toISOString(),
    message: { content: 'Work' },
    target: { type: 'new_session', session },
  };

  it('a service that runs no commands refuses sessions and schedules with a workspace, after all other checks', async () => {
    for (const [path, body, wrong] of [
      ['/v1/sessions', session, { ...session, mcp_servers: ['mcp_none'] }],
      [
        '/v1/schedules',
        schedule,
        { ...schedule, target: { type: 'new_session', session: { ...session, model_id: 'x' } } },
      ],
    ] as const) {
      const { status, body: answer } = await service.api('POST', path, body);
      expect([status, answer.error.type], JSON.stringify(answer)).to.deep.equal([422, 'workspace_unavailable']);
      expect((await service.api('POST', path, wrong)).body.error.type).to.match(/not_found|unknown_model/);
    }
  });

  it('a service that runs no commands skips the runs of a schedule that asks for a workspace, and says why', async () => {
    const { target: _, ...rest } = schedule;
    const plain = { ...rest, target: { type: 'new_session', session: { model_id: 'test-model' } } };
    const { body: made } = await service.api('POST', '/v1/schedules', plain);
    // As it was made while the service had a sandbox.
    await service.db.query(
      `UPDATE schedules SET target = jsonb_set(target::jsonb, '{session,tools}', '[{"type": "workspace"}]') WHERE id = $1`,
      [made.id],
    );
    const { body: run } = await service.api('POST', `/v1/schedules/${made.id}/run`);
    expect(run.last_run).to.include({ state: 'skipped', reason: 'workspace_unavailable' });
  });
});
