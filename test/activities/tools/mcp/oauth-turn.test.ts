import { expect } from 'chai';
import { startOauthPair, type OauthPair } from '../../../support/oauth-server.js';
import { expectNoSecrets } from '../../../support/secrets.js';
import { toolUse } from '../../../support/scripted-model.js';
import { startTurnService, type TurnService } from '../../../support/turns.js';

// oxlint-disable-next-line typescript/no-explicit-any -- events of many types
type Event = Record<string, any>;

describe('MCP servers with OAuth in turns', () => {
  let service: TurnService;
  let pair: OauthPair;
  let id: string;
  let sessionId: string;
  before(async () => {
    pair = await startOauthPair([{ name: 'echo', run: () => `you sent ${[...pair.shown].join(' ')}` }]);
    service = await startTurnService({ config: { mcpAllowedHosts: pair.hosts } });
    const auth = { type: 'OAUTH' };
    const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'guarded', url: pair.mcp.url, auth });
    id = body.id;
    sessionId = await service.session({ thinking_enabled: false, mcp_servers: [id] });
    await consent(body);
  });
  after(async () => {
    await service.close();
    await pair.close();
  });

  const consent = async ({ auth }: { auth: { authorization_url: string } }): Promise<void> => {
    const callback = await pair.consent(auth.authorization_url);
    expect((await fetch(`${service.url}${callback.pathname}${callback.search}`)).status).to.equal(200);
  };
  const run = (content: string): Promise<Event[]> => service.run(sessionId, content);

  it('refresh a rejected token once for 50 parallel calls, and hide it in their results', async () => {
    service.model.on(
      /call/,
      async () => {
        for (const token of pair.shown) pair.rejected.add(token);
        return Array.from({ length: 50 }, () => toolUse('mcp__guarded__echo'));
      },
      'done',
    );
    const results = (await run('call it')).filter(({ type }) => type === 'agent.tool_result');
    expect(results.map(({ is_error }) => is_error)).to.deep.equal(Array(50).fill(false));
    for (const { content } of results) expect(content).to.match(/^you sent \[credential\]/);
    expect(pair.grants('refresh_token')).to.equal(1);
  });

  it('report that a person has to authorize again when the refresh is refused', async () => {
    for (const token of pair.shown) pair.rejected.add(token);
    pair.gateway = (_, res, body) => {
      if (!body.includes('refresh_token')) return false;
      res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
      return true;
    };
    const [, error] = await run('hello');
    expect(error!.type).to.equal('agent.mcp_error');
    expect(error!.message).to.match(/needs to be authorized by a person/);
    const path = `/v1/mcp-servers/${id}`;
    expect((await service.api('GET', path)).body.auth.status).to.equal('authorization_required');
    pair.gateway = undefined;
    await consent((await service.api('POST', `${path}/authorize`)).body);
    expect((await run('hello')).map(({ type }) => type)).not.to.include('agent.mcp_error');
  });

  it('leave no token, code or secret in tables, events, the model’s requests or Temporal', async () => {
    const secrets = new Set(pair.shown);
    for (const { form } of pair.requests) {
      for (const field of ['code', 'code_verifier', 'refresh_token', 'client_secret']) {
        const secret = form.get(field);
        if (secret !== null) secrets.add(secret);
      }
    }

    await expectNoSecrets(service, sessionId, secrets);
    expect(secrets.size).to.be.greaterThan(5);
  });
});
