import { expect } from 'chai';
import { OauthAccess } from '../../src/mcp/oauth/tokens.js';
import type { OauthServer } from '../../src/mcp/oauth/remembered.js';
import { createMcpNetwork } from '../../src/network/network.js';
import { createLogger } from '../../src/platform/logger.js';
import { startOauthPair, type OauthPair } from './oauth-server.js';
import { reachedBy } from './rows.js';
import { startService, type TestService } from './service.js';

type Response = Awaited<ReturnType<TestService['api']>>;

/** `auth` of a server without and with an authorization. */
export const REQUIRED = {
  type: 'OAUTH',
  name: null,
  status: 'authorization_required',
  authorization_url: null,
  expires_at: null,
};
export const AUTHORIZED = { ...REQUIRED, status: 'authorized' };

/** A service, and what its clients and browsers do with MCP servers of type OAUTH. */
export interface OauthCalls {
  service: TestService;
  /** `host:port` of the servers that the service may reach. */
  allowed: string[];
  start(): Promise<OauthPair>;
  register(pair: OauthPair, auth?: Record<string, unknown>, key?: string): Promise<Response>;
  /** What the authorization server's redirect makes the browser do. */
  callBack(url: URL): Promise<{ status: number; page: string; headers: Headers }>;
  /** Registers and authorizes a server. */
  authorized(pair: OauthPair): Promise<OauthServer & { path: string }>;
  authOf(path: string): Promise<Record<string, unknown>>;
  /** The tokens as another process, such as a worker, uses them. */
  accessOf(): OauthAccess;
  close(): Promise<void>;
}

/** The reason of an answer that must be `mcp_oauth_failed`. */
export function reasonOf({ status, body }: Response): string {
  expect([status, body.error?.type]).to.deep.equal([422, 'mcp_oauth_failed']);
  return body.error.message as string;
}

export async function startOauthCalls(): Promise<OauthCalls> {
  const allowed: string[] = [];
  const pairs: OauthPair[] = [];
  const service = await startService({ config: { mcpAllowedHosts: allowed } });
  const network = createMcpNetwork(allowed);
  const log = createLogger('silent', 'test');
  let count = 0;
  const calls: OauthCalls = {
    service,
    allowed,
    async start() {
      const pair = await startOauthPair();
      pairs.push(pair);
      allowed.push(...pair.hosts);
      return pair;
    },
    async register(pair, auth = {}, key) {
      count += 1;
      const body = { name: `oauth-${count}`, url: pair.mcp.url, auth: { type: 'OAUTH', ...auth } };
      return (key === undefined ? service.api : service.as(key))('POST', '/v1/mcp-servers', body);
    },
    async callBack(url) {
      const response = await fetch(`${service.url}${url.pathname}${url.search}`);
      // A refusal is a page too: it has no error body to note.
      if (response.status === 200) reachedBy('GET', url.pathname, response.status, null);
      return { status: response.status, page: await response.text(), headers: response.headers };
    },
    async authorized(pair) {
      const { body } = await calls.register(pair);
      expect((await calls.callBack(await pair.consent(body.auth.authorization_url))).status).to.equal(200);
      const [row] = await service.db.query<OauthServer[]>(
        'SELECT id, project_id, credential_version FROM mcp_servers WHERE id = $1',
        [body.id],
      );
      return { ...row!, path: `/v1/mcp-servers/${body.id}` };
    },
    authOf: async (path) => (await service.api('GET', path)).body.auth,
    accessOf: () => new OauthAccess({ db: service.db, mcpNetwork: network, config: service.config, log }),
    async close() {
      await network.close();
      await service.close();
      for (const pair of pairs) await pair.close();
    },
  };
  return calls;
}
