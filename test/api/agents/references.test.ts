import { expect } from 'chai';
import { newAgent } from '../../support/agents.js';
import type { ApiResponse } from '../../support/client.js';
import { insertMcpServer } from '../../support/factories.js';
import { newSchedule } from '../../support/schedules.js';
import { useService } from '../../support/use.js';

/** docs/agents.md, docs/memory.md: what a request names, and what has no room. The service has no sandboxes. */
describe('requests that name agents', () => {
  const service = useService({ config: { rateLimitPerMinute: 0 } });
  const api = (...call: Parameters<typeof service.api>) => service.api(...call);
  const errorOf = ({ status, body }: ApiResponse): string => `${status} ${body?.error?.type}`;
  const newSession = async (fields: object): Promise<string> => {
    const { status, body } = await api('POST', '/v1/sessions', fields);
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.id as string;
  };
  const scheduleOf = (session: object) => newSchedule({ target: { type: 'new_session', session } });

  it('a request that names what an agent has not is refused, and changes nothing', async () => {
    const agent = await newAgent(api, { model_id: 'test-model' });
    const id = await newSession({ agent: agent.id });
    const before = (await api('GET', `/v1/sessions/${id}`)).body;
    const gone = { id: agent.id, version: 9 };
    const skills = { id: agent.id, overrides: { skills: ['skill_01kag8y7m3w9s1p4x2c5v6b7n8'] } };
    const missing = 'agent_01kag8y7m3w9s1p4x2c5v6b7n8';
    const cases: [string, string, object, string][] = [
      ['PATCH', `/v1/sessions/${id}`, { agent: gone }, '404 agent_version_not_found'],
      ['PATCH', `/v1/sessions/${id}`, { agent: missing }, '404 agent_not_found'],
      ['PATCH', `/v1/sessions/${id}`, { agent: skills }, '404 skill_not_found'],
      [
        'PATCH',
        `/v1/sessions/${id}`,
        { agent: { id: agent.id, overrides: { model_id: 'gone' } } },
        '422 unknown_model',
      ],
      ['POST', `/v1/sessions/${id}/fork`, { agent: gone }, '404 agent_version_not_found'],
      ['POST', `/v1/sessions/${id}/fork`, { agent: skills }, '404 skill_not_found'],
      ['POST', '/v1/schedules', scheduleOf({ agent: gone }), '404 agent_version_not_found'],
      ['POST', '/v1/memories', { agent_id: missing }, '404 agent_not_found'],
    ];
    for (const [method, path, body, expected] of cases)
      expect(errorOf(await api(method, path, body)), `${path} ${JSON.stringify(body)}`).to.equal(expected);
    expect((await api('GET', `/v1/sessions/${id}`)).body).to.deep.equal(before);
  });

  it('an agent that names a tool which its MCP server does not offer is refused', async () => {
    await insertMcpServer(service.db, 'mcp_offers');
    await service.db.query(
      `UPDATE mcp_servers SET tools = '[{"name": "send", "description": ""}]' WHERE id = 'mcp_offers'`,
    );
    const configs = [{ name: 'none', permission_policy: { type: 'always_ask' } }];
    const fields = {
      mcp_servers: ['mcp_offers'],
      tools: [{ type: 'mcp_toolset', mcp_server_id: 'mcp_offers', configs }],
    };
    const made = await api('POST', '/v1/agents', { name: 'asks', model_id: 'test-model', ...fields });
    expect(errorOf(made)).to.equal('422 unknown_mcp_tool');
    const agent = await newAgent(api, { model_id: 'test-model' });
    expect(errorOf(await api('PATCH', `/v1/agents/${agent.id}`, fields))).to.equal('422 unknown_mcp_tool');
  });

  it('a workspace of an agent is refused where no worker runs commands', async () => {
    const tools = [{ type: 'workspace' }];
    const agent = await newAgent(api, { model_id: 'test-model' });
    expect(errorOf(await api('PATCH', `/v1/agents/${agent.id}`, { tools }))).to.equal('422 workspace_unavailable');
    const id = await newSession({ agent: agent.id });
    // As if the service had run commands when it was made.
    await service.db.query('UPDATE configurations SET tools = $2, model_tools = $2 WHERE id = $1', [
      `${agent.id}@1`,
      JSON.stringify(tools),
    ]);
    for (const [method, path, body] of [
      ['PATCH', `/v1/sessions/${id}`, { agent: { id: agent.id, version: 'live' } }],
      ['POST', `/v1/sessions/${id}/fork`, { agent: { id: agent.id } }],
      ['POST', '/v1/schedules', scheduleOf({ agent: { id: agent.id, version: 1 } })],
      ['POST', '/v1/sessions', { model_id: 'test-model', tools }],
    ] as const)
      expect(errorOf(await api(method, path, body)), path).to.equal('422 workspace_unavailable');
  });

  it('a memory has 1,000 files, and its files are deleted by a path', async () => {
    const { body: memory } = await api('POST', '/v1/memories', {});
    await service.db.query(
      `INSERT INTO memory_files (memory_id, path, text, size_bytes, sha256, version, created_version)
       SELECT $1, '/f' || n, '', 0, sha256(''), n, n FROM generate_series(1, 1000) AS n`,
      [memory.id],
    );
    await service.db.query('UPDATE memories SET version = 1000, file_count = 1000 WHERE id = $1', [memory.id]);
    const write = (path: string) => api('POST', `/v1/memories/${memory.id}/files`, { path, content: 'text' });
    expect(errorOf(await write('/one-more'))).to.equal('409 memory_file_limit_reached');
    expect((await write('/f1')).status).to.equal(201);
    expect(errorOf(await api('DELETE', `/v1/memories/${memory.id}/files`))).to.equal('422 validation_error');
  });

  it('agents, forks and memories are refused in a project whose storage is full', async () => {
    const agent = await newAgent(api, { model_id: 'test-model' });
    const id = await newSession({ agent: agent.id });
    const { body: memory } = await api('POST', '/v1/memories', { agent_id: agent.id });
    await service.db.query(
      `INSERT INTO project_storage (project_id, bytes) SELECT id, 1000000000000000 FROM projects
       ON CONFLICT (project_id) DO UPDATE SET bytes = excluded.bytes`,
    );
    for (const [method, path, body] of [
      ['POST', '/v1/agents', { name: 'no-room', model_id: 'test-model' }],
      ['PATCH', `/v1/agents/${agent.id}`, { description: 'Larger.' }],
      ['POST', `/v1/sessions/${id}/fork`, {}],
      ['POST', `/v1/memories/${memory.id}/files`, { path: '/a', content: 'text' }],
    ] as const)
      expect(errorOf(await api(method, path, body)), path).to.equal('413 storage_limit_reached');
  });
});
