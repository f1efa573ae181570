import { createServer, type ServerResponse } from 'node:http';
import type { Database } from '../../src/db/db.js';
import type { Config } from '../../src/platform/config.js';
import { seal } from '../../src/platform/sealed.js';
import type { Grant } from '../../src/mcp/oauth/grants.js';
import type { OauthServer } from '../../src/mcp/oauth/remembered.js';
import { insertMcpServer } from './factories.js';
import { closeServer, listen } from './listen.js';

/** The token endpoint of an authorization server that answers when the test lets it. */
export interface TokenEndpoint {
  host: string;
  /** Forms of all requests so far, tokens to revoke included. */
  forms: URLSearchParams[];
  /** Requests that wait for an answer, and how many did so at most. */
  readonly waiting: number;
  readonly mostWaiting: number;
  /** While true, requests are answered at once. */
  isOpen: boolean;
  /** Answers one request that waits. */
  release(): void;
  /** Adds an authorized server whose access token lives for this many seconds. */
  authorized(
    db: Database,
    config: Config,
    server: { id: string; project?: string; expiresIn: number },
  ): Promise<OauthServer>;
  close(): Promise<void>;
}

export async function startTokenEndpoint(): Promise<TokenEndpoint> {
  const open: ServerResponse[] = [];
  let count = 0;
  const http = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      endpoint.forms.push(new URLSearchParams(Buffer.concat(chunks).toString()));
      open.push(res);
      mostWaiting = Math.max(mostWaiting, open.length);
      if (endpoint.isOpen) endpoint.release();
    });
    res.on('close', () => open.includes(res) && open.splice(open.indexOf(res), 1));
  });
  let mostWaiting = 0;
  const { host, url } = await listen(http);

  const endpoint: TokenEndpoint = {
    host,
    forms: [],
    get waiting() {
      return open.length;
    },
    get mostWaiting() {
      return mostWaiting;
    },
    isOpen: false,
    release() {
      count += 1;
      const tokens = { access_token: `access-${count}`, refresh_token: `refresh-${count}`, token_type: 'Bearer' };
      open
        .shift()
        ?.writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ...tokens, expires_in: 3600 }));
    },
    async authorized(db, config, { id, project = 'demo', expiresIn }) {
      await insertMcpServer(db, id, project);
      const grant: Grant = {
        tokens: { access_token: `old-access-${id}`, refresh_token: `old-refresh-${id}`, expires_in: 3600 },
        client: { client_id: 'client', client_secret: 'client-secret' },
        server: {
          issuer: url,
          authorization_endpoint: `${url}/auth`,
          token_endpoint: `${url}/token`,
          revocation_endpoint: `${url}/revoke`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        },
        resource: `https://${id}`,
      };
      await db.query(`UPDATE mcp_servers SET auth_type = 'OAUTH' WHERE id = $1`, [id]);
      await db.query(
        `INSERT INTO mcp_oauth (id, client, client_is_dynamic, discovery, redirect_uri, tokens, tokens_expire_at, authorized_at)
         VALUES ($1, $2, true, $3, $4, $5, clock_timestamp() + make_interval(secs => $6), clock_timestamp())`,
        [
          id,
          seal(config.encryptionKeys, 'mcp_oauth.client', id, JSON.stringify(grant.client)),
          JSON.stringify({ resource: grant.resource, scopes: null, server: grant.server }),
          `${config.publicUrl}/v1/mcp-servers/oauth/callback`,
          seal(config.encryptionKeys, 'mcp_oauth.tokens', id, JSON.stringify(grant)),
          expiresIn,
        ],
      );
      const [row] = await db.query<OauthServer[]>(
        'SELECT id, project_id, credential_version FROM mcp_servers WHERE id = $1',
        [id],
      );
      return row!;
    },
    close: () => closeServer(http),
  };
  return endpoint;
}
