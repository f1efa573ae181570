import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import Provider from 'oidc-provider';

/** A calendar for many people, as an MCP server, and the authorization server at which they sign in. Both forget all when they end. */
const { CALENDAR_PORT = '7303' } = process.env;
const BASE = `http://127.0.0.1:${CALENDAR_PORT}`;
const MCP = `${BASE}/mcp`;
const METADATA = '/.well-known/oauth-protected-resource/mcp';

/** Its own pages for signing in and agreeing: any name is a person, and any password is right. */
const provider = new Provider(BASE, {
  cookies: { keys: ['example'] },
  scopes: ['calendar', 'offline_access'],
  pkce: { required: () => true },
  issueRefreshToken: async () => true,
  features: {
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: 'calendar', accessTokenFormat: 'opaque', accessTokenTTL: 3600 }),
    },
  },
});

/** The MCP protocol for one person. The token of the request says who it is, never the tool's input. */
function protocol(person: string): Server {
  const server = new Server({ name: 'calendar', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      {
        name: 'list_events',
        description: 'Lists the appointments of the person who signed in.',
        inputSchema: { type: 'object' },
        annotations: { readOnlyHint: true },
      },
    ],
  }));
  server.setRequestHandler(CallToolRequestSchema, () => {
    console.log(`list_events as ${person}`);
    return { content: [{ type: 'text', text: `${person}: breakfast at 8, dentist at 16` }] };
  });
  return server;
}

createServer((req, res) => {
  void (async () => {
    const { pathname } = new URL(req.url!, BASE);
    if (pathname === METADATA) {
      res.writeHead(200, { 'content-type': 'application/json' });
      return res.end(JSON.stringify({ resource: MCP, authorization_servers: [BASE], scopes_supported: ['calendar'] }));
    }
    if (pathname !== '/mcp') return provider.callback()(req, res);
    const token = await provider.AccessToken.find(/^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1] ?? '');
    if (token?.aud !== MCP) {
      res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${BASE}${METADATA}"` });
      return res.end();
    }
    if (req.method !== 'POST') return res.writeHead(405).end();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await protocol(token.accountId!).connect(transport);
    return transport.handleRequest(req, res, await json(req));
  })();
}).listen(Number(CALENDAR_PORT), '127.0.0.1', () => console.log(`calendar at ${MCP}`));
