import { expect } from 'chai';
import { SCOPES, type Scope } from '../../../src/projects/permissions.js';
import { newAgent, newSkill, pushSkill } from '../../support/agents.js';
import type { ApiCall, ApiResponse } from '../../support/client.js';
import { insertMcpServer } from '../../support/factories.js';
import { confirmation } from '../../support/waiting-turns.js';
import { newSchedule } from '../../support/schedules.js';
import { useService } from '../../support/use.js';

/** A request by which a key would have more than it has. It needs each of these permissions, of which no key below has all. */
type Attempt = readonly [
  name: string,
  needs: readonly [Scope, Scope, ...Scope[]],
  method: string,
  path: string,
  body: object,
];

const MODEL = { model_id: 'test-model' };
const memory = (access: string): object => ({ type: 'memory', of: 'project', access });
const places = {
  'a session': 'sessions:write',
  'an agent': 'agents:write',
  'a change of an agent': 'agents:write',
  'a schedule': 'sessions:write',
} as const;

/** decisions.md "Keys, approvers, audit log": a key gives itself nothing, by whatever it may write. */
describe('a key that wants more', function () {
  this.timeout(60_000);
  const service = useService();
  const made = { agent: '', called: '', skill: '', session: '', ofAgent: '', schedule: '', file: '' };
  let attempts: Attempt[] = [];

  const create = async (api: ApiCall, path: string, body: object): Promise<string> => {
    const answer = await api('POST', path, body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return answer.body.id as string;
  };
  const keyOf = async (scopes: readonly Scope[]): Promise<ApiCall> => service.as(await service.newKey({ scopes }));
  const outcomeOf = ({ status, body }: ApiResponse): unknown[] => [status, body?.error?.type, body?.error?.details];
  const refusedFor = (required: Scope): unknown[] => [403, 'insufficient_scope', { required }];
  /** All that the attempts are about. */
  const state = async (): Promise<unknown> => {
    const tables = [
      'agents',
      'agent_versions',
      'sessions',
      'schedules',
      'api_keys',
      'mcp_servers',
      'memories',
      'skills',
    ];
    return Promise.all(
      tables.map(async (table) => {
        const left = table === 'api_keys' ? `- ARRAY['last_used_at']` : '';
        const [row] = await service.db.query<[{ rows: string }]>(
          `SELECT string_agg((to_jsonb(t) ${left})::text, '' ORDER BY to_jsonb(t)->>'id', t::text) AS rows FROM ${table} t`,
        );
        return [table, row.rows];
      }),
    );
  };

  before(async () => {
    const { api } = service;
    await insertMcpServer(service.db, 'mcp_bank');
    made.skill = await newSkill(api, 'ledger');
    made.called = (await newAgent(api, MODEL)).id;
    made.agent = (await newAgent(api, { ...MODEL, mcp_servers: ['mcp_bank'] })).id;
    made.session = await create(api, '/v1/sessions', MODEL);
    made.ofAgent = await create(api, '/v1/sessions', { agent: { id: made.agent, version: 'live' } });
    made.schedule = await create(api, '/v1/schedules', newSchedule());
    const form = new FormData();
    form.set('file', new Blob(['x']), 'x.txt');
    made.file = (await api('POST', '/v1/files', form)).body.id;
    attempts = [...configurations(), ...references(), ...messages(), ...others()];
  });

  /** What a configuration names, wherever one is written. */
  function configurations(): Attempt[] {
    const named: [string, Scope, object][] = [
      ['a server', 'mcp_servers:read', { mcp_servers: ['mcp_bank'] }],
      ['an agent to call', 'agents:read', { tools: [{ type: 'agent', agent_id: made.called }] }],
      ['a memory to write', 'memories:write', { tools: [memory('read_write')] }],
      ['a memory to read', 'memories:read', { tools: [memory('read_only')] }],
    ];
    const ofAgents: [string, Scope, object][] = [
      ['a skill', 'skills:read', { skills: [made.skill] }],
      ['a skill by its name', 'skills:read', { skills: [{ name: 'ledger' }] }],
    ];
    const write = (place: keyof typeof places, fields: object, n: number): [string, string, object] => {
      const whole = { ...MODEL, ...fields };
      if (place === 'a session') return ['POST', '/v1/sessions', whole];
      if (place === 'an agent') return ['POST', '/v1/agents', { name: `more-${n}`, ...whole }];
      if (place === 'a change of an agent') return ['PATCH', `/v1/agents/${made.called}`, fields];
      return ['POST', '/v1/schedules', newSchedule({ target: { type: 'new_session', session: whole } })];
    };
    const all = (Object.keys(places) as (keyof typeof places)[]).flatMap((place) =>
      [...named, ...(places[place] === 'agents:write' ? ofAgents : [])].map(([what, scope, fields], n): Attempt => [
        `${place}: ${what}`,
        [places[place], scope],
        ...write(place, fields, n),
      ]),
    );
    const toolset = { type: 'mcp_toolset', mcp_server_id: 'mcp_bank', elicitation: true };
    return [
      ...all,
      [
        ...(['a change of an agent: more of a server that it has', ['agents:write', 'mcp_servers:read']] as const),
        ...(['PATCH', `/v1/agents/${made.agent}`, { tools: [toolset] }] as const),
      ],
    ];
  }

  /** What an agent may do, by a reference to it. */
  function references(): Attempt[] {
    const agent = made.agent;
    const withSkill = { id: agent, version: 'live', overrides: { skills: [made.skill] } };
    const target = (given: unknown) => ({ target: { type: 'new_session', session: { agent: given } } });
    return [agent, withSkill].flatMap((given): Attempt[] => {
      const needs = ['sessions:write', 'agents:read', ...(given === agent ? [] : (['skills:read'] as const))] as const;
      const name = (place: string): string => `${place}: an agent${given === agent ? '' : ' with a skill of its own'}`;
      return [
        [name('a session'), needs, 'POST', '/v1/sessions', { agent: given }],
        [name('a change of a session'), needs, 'PATCH', `/v1/sessions/${made.ofAgent}`, { agent: given }],
        [name('a fork'), needs, 'POST', `/v1/sessions/${made.session}/fork`, { agent: given }],
        [name('a schedule'), needs, 'POST', '/v1/schedules', newSchedule(target(given))],
      ];
    });
  }

  function messages(): Attempt[] {
    const named: [string, Scope, object][] = [
      ['a file', 'files:read', { files: [made.file] }],
      ['a skill', 'skills:read', { skills: [made.skill] }],
    ];
    return named.flatMap(([what, scope, fields]): Attempt[] => {
      const [needs, message] = [['sessions:write', scope] as const, { content: 'Show it.', ...fields }];
      return [
        [`a message: ${what}`, needs, 'POST', `/v1/sessions/${made.session}/messages`, message],
        [`a schedule: ${what}`, needs, 'POST', '/v1/schedules', newSchedule({ message })],
        [`a change of a schedule: ${what}`, needs, 'PATCH', `/v1/schedules/${made.schedule}`, { message }],
      ];
    });
  }

  function others(): Attempt[] {
    const session = `/v1/sessions/${made.session}`;
    const call = '/v1/mcp-servers/mcp_bank/tools/pay/call';
    const token = (...scopes: string[]): object => ({ scopes });
    return [
      [
        'an approval',
        ['sessions:write', 'approvals:write'],
        'POST',
        `${session}/events`,
        { events: [confirmation('toolu_1', 'allow')] },
      ],
      ['a call of a tool', ['mcp_servers:write', 'sessions:write'], 'POST', call, { input: {} }],
      ['a token that reads', ['sessions:write', 'sessions:read'], 'POST', `${session}/tokens`, token('read')],
      [
        'a token for files',
        ['sessions:write', 'files:read', 'files:write'],
        'POST',
        `${session}/tokens`,
        token('files'),
      ],
      ['a token for the workspace', ['sessions:write', 'files:read'], 'POST', `${session}/tokens`, token('workspace')],
      ...SCOPES.filter((scope) => scope !== 'keys:write').map((scope): Attempt => [
        `a key that has ${scope}`,
        ['keys:write', scope],
        'POST',
        '/v1/keys',
        { name: 'more', scopes: ['keys:write', scope] },
      ]),
    ];
  }

  it('keys with each scope alone get nothing more by agents, memories, references, messages, schedules, tokens and keys', async () => {
    await insertTool();
    const keys = await Promise.all(SCOPES.map(async (scope) => [scope, await keyOf([scope])] as const));
    const before = await state();
    for (const [scope, api] of keys) {
      const refuse = async ([name, needs, method, path, body]: Attempt): Promise<void> => {
        const answer = await api(method, path, body);
        expect([answer.status, answer.body.error?.type], `${scope}: ${name}`).to.deep.equal([
          403,
          'insufficient_scope',
        ]);
        expect(answer.body.error.details.required, `${scope}: ${name}`).to.be.oneOf(
          needs.filter((each) => each !== scope),
        );
      };
      await Promise.all(attempts.map(refuse));
    }
    expect(await state()).to.deep.equal(before);
  });

  it('keys need every permission of what they name, and with these it is done', async () => {
    await insertTool();
    for (const [name, needs, method, path, body] of attempts) {
      for (const missing of needs) {
        const api = await keyOf(SCOPES.filter((scope) => scope !== missing));
        expect(outcomeOf(await api(method, path, body)), `${name} without ${missing}`).to.deep.equal(
          refusedFor(missing),
        );
      }
      const { status, body: answer } = await (await keyOf(needs))(method, path, body);
      expect(status, `${name}: ${JSON.stringify(answer)}`).to.not.equal(403);
      // There is no such call, and a turn may be open.
      if (status >= 300) expect(answer.error.type, name).to.be.oneOf(['tool_use_not_found', 'session_running']);
    }
  });

  it('keys get no answer that another key got for an Idempotency-Key', async () => {
    const kept = (n: number): Record<string, string> => ({ 'Idempotency-Key': `kept-${n}` });
    for (const [n, [name, needs, method, path, body]] of attempts.entries()) {
      if (!path.startsWith('/v1/agents') && !/^\/v1\/(sessions|schedules)$/.test(path)) continue;
      const fresh = 'name' in body ? { ...body, name: `kept-${n}` } : body;
      const first = await service.api(method, path, fresh, kept(n));
      expect(first.status, name).to.be.oneOf([200, 201]);
      const again = await (await keyOf([needs[0]]))(method, path, fresh, kept(n));
      expect([again.status, again.headers.get('idempotency-replayed')], name).to.deep.equal([403, null]);
    }
  });

  it('keys with every scope change nothing that was decided when it was made', async () => {
    const path = { server: '/v1/mcp-servers/mcp_bank', session: `/v1/sessions/${made.ofAgent}` };
    const place = ({ status, body }: ApiResponse): unknown[] => [status, body.error.details?.errors?.[0]?.path];
    for (const [method, target, body, at] of [
      // A stored credential goes to the address for which it was given.
      ['PATCH', path.server, { url: 'https://evil.example' }, '/url'],
      ['PATCH', path.session, { user: 'ada' }, '/user'],
      ['PATCH', path.session, { tools: [] }, '/tools'],
      ['PATCH', path.session, { mcp_servers: ['mcp_bank'] }, '/mcp_servers'],
      ['PATCH', path.session, { agent: { id: made.agent, overrides: { tools: [] } } }, '/agent/overrides/tools'],
      [
        'PATCH',
        path.session,
        { agent: { id: made.agent, overrides: { mcp_servers: [] } } },
        '/agent/overrides/mcp_servers',
      ],
      ['PATCH', path.session, { agent: null }, '/agent'],
      ['PATCH', `/v1/sessions/${made.session}`, { agent: made.agent }, '/agent'],
      ['PATCH', `/v1/schedules/${made.schedule}`, { target: {} }, '/target'],
      ['PATCH', `/v1/agents/${made.agent}`, { name: 'other' }, '/name'],
      ['POST', `${path.session}/fork`, { user: 'ada' }, '/user'],
      ['POST', `${path.session}/fork`, { budget: null }, '/budget'],
    ] as const) {
      expect(place(await service.api(method, target, body)), JSON.stringify(body)).to.deep.equal([422, at]);
    }
  });

  it('keys get nothing of another project by naming it', async () => {
    const stranger = service.as(await service.newKey({ project: 'strangers' }));
    const agent = (await newAgent(stranger, MODEL)).id as string;
    expect((await pushSkill(stranger, 'ledger')).status).to.equal(201);
    for (const [fields, type] of [
      [{ mcp_servers: ['mcp_bank'] }, 'mcp_server_not_found'],
      [{ tools: [{ type: 'agent', agent_id: made.called }] }, 'agent_not_found'],
      [{ skills: [made.skill] }, 'skill_not_found'],
    ] as const) {
      const answer = await stranger('PATCH', `/v1/agents/${agent}`, fields);
      expect([answer.status, answer.body.error.type]).to.deep.equal([404, type]);
    }
    for (const [path, body, type] of [
      ['/v1/sessions', { agent: made.agent }, 'agent_not_found'],
      ['/v1/memories', { agent_id: made.agent }, 'agent_not_found'],
      [
        '/v1/credentials',
        { mcp_server_id: 'mcp_bank', user: 'ada', auth: { type: 'BEARER', token: 'mine' } },
        'mcp_server_not_found',
      ],
      [`/v1/sessions/${made.session}/authorize`, { mcp_server_id: 'mcp_bank' }, 'session_not_found'],
    ] as const) {
      const answer = await stranger('POST', path, body);
      expect([answer.status, answer.body.error.type], path).to.deep.equal([404, type]);
    }
  });

  /** The server offers `pay`, whose calls are refused before anything is sent: nobody listens there. */
  async function insertTool(): Promise<void> {
    const tools = [{ name: 'pay', description: 'Pays.', input_schema: { type: 'object' } }];
    await service.db.query(`UPDATE mcp_servers SET tools = $1 WHERE id = 'mcp_bank'`, [JSON.stringify(tools)]);
  }
});
