import { expect } from 'chai';
import { openDataSource } from '../../../src/db/data-source.js';
import { reencryptSecrets } from '../../../src/db/reencrypt.js';
import { credentialOf } from '../../../src/mcp/auth.js';
import type { McpServerRow } from '../../../src/db/entities/mcp-servers.js';
import { textOfTables } from '../../support/secrets.js';
import { useMcpServer, useService } from '../../support/use.js';

const SECRET = 'known-secret-0123456789';

describe('credentials of MCP servers', () => {
  const server = useMcpServer({
    auth: { header: 'authorization', value: `Bearer ${SECRET}` },
    serverName: `echo ${SECRET}`,
    tools: [{ name: 'leak', description: `You sent ${SECRET}`, inputSchema: { type: 'object', title: SECRET } }],
  });
  const service = useService(() => ({ config: { mcpAllowedHosts: [server.host] } }));

  it('credentials of MCP servers are in no response and in no table, even when the server echoes them', async () => {
    const body = { name: 'one', url: server.url, auth: { type: 'BEARER', token: SECRET } };
    const answers = [
      await service.api('POST', '/v1/mcp-servers', body, { 'Idempotency-Key': 'secret-1' }),
      await service.api('POST', '/v1/mcp-servers', body, { 'Idempotency-Key': 'secret-1' }),
      await service.api('POST', '/v1/mcp-servers', body),
      await service.api('GET', '/v1/mcp-servers'),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([201, 201, 409, 200]);
    const path = `/v1/mcp-servers/${answers[0]!.body.id}`;
    answers.push(await service.api('POST', `${path}/probe`));
    answers.push(await service.api('PATCH', path, { auth: { type: 'BEARER', token: `${SECRET}-wrong` } }));
    answers.push(await service.api('PATCH', path, { auth: { type: 'BEARER', token: `${SECRET}\n` } }));
    expect(answers.slice(4).map(({ status }) => status)).to.deep.equal([200, 422, 422]);
    expect(JSON.stringify(answers.map(({ body: text }) => text))).not.to.include(SECRET);
    const everything = await textOfTables(service);
    expect(everything).to.include('mcp_').and.not.to.include(SECRET);
    expect(everything).not.to.include(Buffer.from(SECRET).toString('base64').slice(0, 20));
  });

  it('credentials of MCP servers are sealed again with the newest key, after which the old one can go', async () => {
    const [old] = service.config.encryptionKeys;
    const fresh = Buffer.alloc(32, 9);
    const read = async (keys: Buffer[]): Promise<string | null> => {
      const [row]: McpServerRow[] = await service.db.query('SELECT * FROM mcp_servers WHERE deleted_at IS NULL');
      return credentialOf(keys, row!).secret;
    };
    const db = await openDataSource(service.config.databaseUrl, 2, 'reencrypt');
    expect(await reencryptSecrets(db, [fresh, old!])).to.equal(1);
    expect(await reencryptSecrets(db, [fresh, old!]), 'nothing is left to do').to.equal(0);
    await db.destroy();
    expect(await read([fresh])).to.equal(SECRET);

    const { items } = (await service.api('GET', '/v1/mcp-servers')).body;
    const probe = await service.api('POST', `/v1/mcp-servers/${items[0].id}/probe`);
    expect([probe.status, probe.body.error.type], 'a process that lacks the key').to.deep.equal([
      422,
      'mcp_probe_failed',
    ]);
    expect(probe.body.error.message).to.match(/set auth again/);
  });
});
