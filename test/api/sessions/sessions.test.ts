import { expect } from 'chai';
import { insertMcpServer, insertTurn } from '../../support/factories.js';
import { useService } from '../../support/use.js';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const model_id = 'test-model';

describe('sessions', () => {
  const service = useService();

  const create = async (fields: object = {}) => service.api('POST', '/v1/sessions', { model_id, ...fields });
  const errorOf = async (fields: object): Promise<string> => {
    const { status, body } = await create(fields);
    return `${status} ${body.error?.type ?? 'ok'}`;
  };
  describe('create', () => {
    it('creating a session fills in defaults', async () => {
      const { status, body } = await create();
      expect(status).to.equal(201);
      expect(body.id).to.match(/^ses_[0-9a-hjkmnp-tv-z]{26}$/);
      expect(body.created_at).to.match(TIMESTAMP);
      expect(body).to.deep.equal({
        id: body.id,
        status: 'IDLE',
        agent: null,
        model_id,
        thinking_enabled: true,
        instruction: null,
        mcp_servers: [],
        metadata: {},
        preview: null,
        tools: [],
        remembered_approvals: [],
        required_actions: [],
        waiting_since: null,
        workspace: null,
        queue: { length: 0, state: 'open' },
        fallback_model_ids: [],
        budget: null,
        cost: null,
        continuable: false,
        turn_count: 0,
        last_turn_id: null,
        parent_session_id: null,
        forked_from: null,
        user: null,
        created_at: body.created_at,
        updated_at: body.created_at,
      });
    });

    it('creating a session keeps the given fields', async () => {
      await insertMcpServer(service.db, 'mcp_kept');
      const given = {
        thinking_enabled: false,
        instruction: 'Be brief. 🦆',
        mcp_servers: ['mcp_kept'],
        metadata: { a: 'b' },
      };
      const { body } = await create(given);
      expect(body).to.deep.include(given);
      expect((await service.api('GET', `/v1/sessions/${body.id}`)).body).to.deep.equal(body);
    });

    it('creating a session takes null as no instruction, and refuses it as metadata', async () => {
      expect(await errorOf({ instruction: null })).to.equal('201 ok');
      for (const metadata of [{ a: 1 }, { a: null }, [], null]) {
        expect(await errorOf({ metadata }), JSON.stringify(metadata)).to.equal('422 validation_error');
      }
    });

    it('creating a session keeps metadata keys such as __proto__', async () => {
      const metadata = '{"__proto__":"a","constructor":"b","toString":"c","hasOwnProperty":"d"}';
      const { body } = await service.api('POST', '/v1/sessions', `{"model_id":"${model_id}","metadata":${metadata}}`);
      expect(JSON.stringify(body.metadata)).to.equal(metadata);
      const read = await service.api('GET', `/v1/sessions/${body.id}`);
      expect(JSON.stringify(read.body.metadata)).to.equal(metadata);
    });

    it('creating a session lists the available models if the given one is unknown', async () => {
      const { status, body } = await create({ model_id: 'other' });
      expect(status).to.equal(422);
      expect(body.error).to.deep.include({ type: 'unknown_model', details: { available_models: [model_id] } });
    });

    it('creating a session lists every MCP server that is missing, deleted or of another project', async () => {
      await service.newKey({ project: 'strangers' });
      await insertMcpServer(service.db, 'mcp_mine');
      await insertMcpServer(service.db, 'mcp_theirs', 'strangers');
      await insertMcpServer(service.db, 'mcp_gone');
      await service.db.query("UPDATE mcp_servers SET deleted_at = now() WHERE id = 'mcp_gone'");
      const { status, body } = await create({ mcp_servers: ['mcp_theirs', 'mcp_mine', 'mcp_none', 'mcp_gone'] });
      expect(status).to.equal(404);
      expect(body.error.type).to.equal('mcp_server_not_found');
      expect(body.error.details).to.deep.equal({ mcp_server_ids: ['mcp_theirs', 'mcp_none', 'mcp_gone'] });
    });

    it('creating a session takes each MCP server once', async () => {
      expect(await errorOf({ mcp_servers: ['mcp_mine', 'mcp_mine'] })).to.equal('422 validation_error');
    });

    it('creating a session needs mcp_servers:read to name MCP servers, but not for an empty array', async () => {
      const writer = service.as(await service.newKey({ scopes: ['sessions:write'] }));
      const { status, body } = await writer('POST', '/v1/sessions', { model_id: 'other', mcp_servers: ['mcp_none'] });
      expect(status).to.equal(403);
      expect(body.error.details).to.deep.equal({ required: 'mcp_servers:read' });
      expect((await writer('POST', '/v1/sessions', { model_id, mcp_servers: [] })).status).to.equal(201);
    });

    it('creating a session looks at the model before the MCP servers', async () => {
      expect(await errorOf({ model_id: 'other', mcp_servers: ['mcp_none'] })).to.equal('422 unknown_model');
    });
  });

  describe('patch', () => {
    const patch = (id: string, metadata: unknown) => service.api('PATCH', `/v1/sessions/${id}`, { metadata });

    it('patching a session merges as in RFC 7396', async () => {
      const { body: session } = await create({ metadata: { kept: '1', changed: '2', dropped: '3' } });
      const { status, body } = await patch(session.id, { changed: 'new', dropped: null, absent: null, added: '4' });
      expect(status).to.equal(200);
      expect(body.metadata).to.deep.equal({ kept: '1', changed: 'new', added: '4' });
      expect(body.updated_at > session.updated_at).to.equal(true);
      expect((await service.api('GET', `/v1/sessions/${session.id}`)).body).to.deep.equal(body);
    });

    it('a patch of a session that changes nothing leaves updated_at', async () => {
      const { body: session } = await create({ metadata: { a: '1' } });
      for (const metadata of [{}, { a: '1' }, { absent: null }]) {
        expect((await patch(session.id, metadata)).body, JSON.stringify(metadata)).to.deep.equal(session);
      }
    });

    it('patching a session merges keys such as __proto__', async () => {
      const { body: session } = await create({ metadata: { a: '1' } });
      const set = await service.api(
        'PATCH',
        `/v1/sessions/${session.id}`,
        '{"metadata":{"__proto__":"x","constructor":"y"}}',
      );
      expect(JSON.stringify(set.body.metadata)).to.equal('{"a":"1","__proto__":"x","constructor":"y"}');
      const unset = await service.api('PATCH', `/v1/sessions/${session.id}`, '{"metadata":{"__proto__":null}}');
      expect(JSON.stringify(unset.body.metadata)).to.equal('{"a":"1","constructor":"y"}');
    });

    it('patching a session requires metadata, an object, and no other field', async () => {
      const { body: session } = await create();
      const others = [{ model_id }, { tools: [] }].map((field) => ({ metadata: {}, ...field }));
      for (const body of [{}, { metadata: null }, { metadata: [] }, { metadata: 'a' }, ...others]) {
        const answer = await service.api('PATCH', `/v1/sessions/${session.id}`, body);
        expect(`${answer.status} ${answer.body.error.type}`, JSON.stringify(body)).to.equal('422 validation_error');
      }
    });

    it('patching a session checks keys and values like creation', async () => {
      const { body: session } = await create();
      for (const metadata of [{ '': 'a' }, { ['k'.repeat(65)]: null }, { a: 'v'.repeat(513) }, { a: 1 }, { a: {} }]) {
        expect((await patch(session.id, metadata)).body.error.type, JSON.stringify(metadata)).to.equal(
          'validation_error',
        );
      }
    });

    it('patching a session loses no key when patches arrive in parallel', async () => {
      const { body: session } = await create();
      const keys = Array.from({ length: 16 }, (_, i) => `k${i}`);
      await Promise.all(keys.map((key) => patch(session.id, { [key]: 'v' })));
      const { body } = await service.api('GET', `/v1/sessions/${session.id}`);
      expect(Object.keys(body.metadata)).to.have.members(keys);
    });
  });

  describe('delete', () => {
    it('deleting a session hides the session for good', async () => {
      const { body: session } = await create();
      expect((await service.api('DELETE', `/v1/sessions/${session.id}`)).status).to.equal(204);
      for (const [method, body] of [['GET'], ['PATCH', { metadata: {} }], ['DELETE']] as [string, object?][]) {
        const answer = await service.api(method, `/v1/sessions/${session.id}`, body);
        expect(`${answer.status} ${answer.body.error.type}`, method).to.equal('404 session_not_found');
      }
      const { body: page } = await service.api('GET', '/v1/sessions?limit=100');
      expect(page.items.map(({ id }: { id: string }) => id)).to.not.include(session.id);
    });

    for (const state of ['queued', 'running']) {
      it(`deleting a session is refused while a turn is ${state}`, async () => {
        const { body: session } = await create();
        await insertTurn(service.db, session.id, state);
        const { status, headers, body } = await service.api('DELETE', `/v1/sessions/${session.id}`);
        expect(`${status} ${body.error.type}`).to.equal('409 session_running');
        expect(headers.get('x-should-retry')).to.equal('false');
      });
    }

    it('deleting a session is allowed once the turn has ended', async () => {
      const { body: session } = await create();
      await insertTurn(service.db, session.id, 'failed');
      expect((await service.api('DELETE', `/v1/sessions/${session.id}`)).status).to.equal(204);
    });
  });
});
