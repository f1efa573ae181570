import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import Provider from 'oidc-provider';
import { startMcpServer, type TestMcpServer, type TestTool } from './mcp-server.js';
import { closeServer, listen } from './listen.js';

/** A real authorization server (oidc-provider), and the MCP server that it guards. */
export interface OauthPair {
  mcp: TestMcpServer;
  issuer: string;
  hosts: string[];
  /** Every request that reached the authorization server: method, path and form. */
  requests: { path: string; form: URLSearchParams }[];
  /** The access tokens that the MCP server was shown. */
  shown: Set<string>;
  /** The calls of tools that the MCP server let in: whose token each had, and its arguments. */
  calls: { login: string; arguments: Record<string, unknown> }[];
  /** Stands in front of the authorization server: true when it has answered by itself. */
  gateway: ((req: IncomingMessage, res: ServerResponse, body: string) => boolean) | undefined;
  /** Holds requests to this path of the authorization server until the promise resolves. */
  hold: ((path: string) => Promise<void> | undefined) | undefined;
  /** Changes the metadata of the resource. */
  resource: Record<string, unknown>;
  /** The MCP server rejects these tokens. */
  rejected: Set<string>;
  /** What a person does in a browser. Returns the address of the callback, with its query. */
  consent(authorizationUrl: string, login?: string): Promise<URL>;
  /** Requests of a grant type to the token endpoint. */
  grants(type: string): number;
  close(): Promise<void>;
}

export async function startOauthPair(tools: TestTool[] = [{ name: 'a' }]): Promise<OauthPair> {
  const http = createServer((req, res) => void serve(req, res));
  const { host, url: issuer } = await listen(http);
  const mcp = await startMcpServer({ tools });

  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    if (req.url!.startsWith('/token')) for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    pair.requests.push({ path: new URL(req.url!, issuer).pathname, form: new URLSearchParams(body) });
    await pair.hold?.(req.url!);
    if (pair.gateway?.(req, res, body) === true) return;
    if (body !== '') (req as unknown as { body: unknown }).body = Object.fromEntries(new URLSearchParams(body));
    provider.callback()(req, res);
  };

  const pair: OauthPair = {
    mcp,
    issuer,
    hosts: [mcp.host, host],
    requests: [],
    shown: new Set(),
    calls: [],
    gateway: undefined,
    hold: undefined,
    resource: { resource: mcp.url, authorization_servers: [issuer], scopes_supported: ['tools'] },
    rejected: new Set(),
    consent,
    grants: (type) => pair.requests.filter(({ form }) => form.get('grant_type') === type).length,
    close: async () => {
      await mcp.close();
      await closeServer(http);
    },
  };
  const provider = new Provider(issuer, {
    cookies: { keys: ['test'] },
    scopes: ['tools', 'offline_access'],
    pkce: { required: () => true },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    ttl: { AccessToken: 3600, RefreshToken: 3600, Grant: 3600, Interaction: 600, Session: 600 },
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: 'tools', accessTokenFormat: 'opaque', accessTokenTTL: 3600 }),
      },
    },
  });
  mcp.options.gateway = async (req, res, body) => {
    const url = new URL(req.url!, mcp.url);
    if (url.pathname.startsWith('/.well-known/')) {
      const known = url.pathname === '/.well-known/oauth-protected-resource/mcp';
      res.writeHead(known ? 200 : 404, { 'content-type': 'application/json' });
      res.end(known ? JSON.stringify(pair.resource) : '{}');
      return true;
    }
    const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1];
    if (token !== undefined) pair.shown.add(token);
    const found = token === undefined ? undefined : await provider.AccessToken.find(token);
    if (found?.aud === mcp.url && !pair.rejected.has(token!)) {
      const { method, params } = JSON.parse(body === '' ? '{}' : body);
      if (method === 'tools/call') pair.calls.push({ login: found.accountId!, arguments: params.arguments });
      return false;
    }
    const metadata = `http://${mcp.host}/.well-known/oauth-protected-resource/mcp`;
    res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
    return true;
  };
  return pair;
}

/** Goes through the pages of oidc-provider: signs in and agrees. */
export async function consent(authorizationUrl: string, login = 'person'): Promise<URL> {
  const cookies = new Map<string, string>();
  const callback = new URL(authorizationUrl).searchParams.get('redirect_uri')!;
  let url = new URL(authorizationUrl);
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step += 1) {
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      body: form,
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    form = undefined;
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      cookies.set(name!, value!);
    }
    const location = response.headers.get('location');
    if (location !== null) {
      url = new URL(location, url);
      if (url.href.startsWith(callback)) return url;
      continue;
    }
    const page = await response.text();
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
    const action = /action="([^"]+)"/.exec(page)?.[1];
    if (prompt === undefined || action === undefined) throw new Error(`${response.status} ${page.slice(0, 2000)}`);
    url = new URL(action, url);
    form = new URLSearchParams({ prompt, ...(prompt === 'login' && { login, password: 'any' }) });
  }
  throw new Error('the authorization server went in circles');
}
