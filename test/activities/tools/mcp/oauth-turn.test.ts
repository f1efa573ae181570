import { expect } from 'chai';
import { expectNoSecrets } from '../../../support/secrets.js';
import { toolUse } from '../../../support/scripted-model.js';
import { useOauthPair, useTurnService } from '../../../support/use.js';

describe('MCP servers with OAuth in turns', () => {
  const pair = useOauthPair([{ name: 'echo', run: () => `you sent ${[...pair.shown].join(' ')}` }]);
  const service = useTurnService(() => ({ config: { mcpAllowedHosts: pair.hosts } }));
  let sessionId: string;
  before(async () => {
    const auth = { type: 'OAUTH' };
    const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'guarded', url: pair.mcp.url, auth });
    sessionId = await service.session({ thinking_enabled: false, mcp_servers: [body.id] });
    const callback = await pair.consent(body.auth.authorization_url);
    expect((await fetch(`${service.url}${callback.pathname}${callback.search}`)).status).to.equal(200);
  });

  it('MCP servers with OAuth in turns have a rejected token refreshed once for 50 parallel calls, and hidden in their results', async () => {
    service.model.on(
      /call/,
      async () => {
        for (const token of pair.shown) pair.rejected.add(token);
        return Array.from({ length: 50 }, () => toolUse('mcp__guarded__echo'));
      },
      'done',
    );
    const events = await service.run(sessionId, 'call it');
    const results = events.filter(({ type }) => type === 'agent.tool_result');
    expect(results.map(({ is_error }) => is_error)).to.deep.equal(Array(50).fill(false));
    for (const { content } of results) expect(content).to.match(/^you sent \[credential\]/);
    expect(pair.grants('refresh_token')).to.equal(1);
  });

  it('MCP servers with OAuth in turns leave no token, code or secret in tables, events, the model’s requests or Temporal', async () => {
    const secrets = new Set(pair.shown);
    for (const { form } of pair.requests) {
      for (const field of ['code', 'code_verifier', 'refresh_token', 'client_secret']) {
        const secret = form.get(field);
        if (secret !== null) secrets.add(secret);
      }
    }

    await expectNoSecrets(service, sessionId, secrets);
    expect(secrets.size).to.be.at.least(5);
  });
});
