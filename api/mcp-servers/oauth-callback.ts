import { writeEntry, type AuditEntry } from '../../src/audit/write.js';
import type { Database } from '../../src/db/db.js';
import { ProjectEntity, type ProjectRow } from '../../src/db/entities/projects.js';
import {
  completeAuthorization,
  takeAuthorization,
  unknownAuthorization,
  type TakenAuthorization,
} from '../../src/mcp/oauth/complete.js';
import { oauthReason } from '../../src/mcp/oauth/failure.js';
import { auditEntries } from '../../src/platform/metrics.js';
import { ServiceError } from '../../src/platform/errors.js';
import type { ApiDeps } from '../deps.js';
import { operation, type Call } from '../http/core/operation.js';
import { callbackPage, type CallbackPage, type Parties } from './oauth-page.js';
import { useCredential } from './credentials/usable.js';
import { probeServer } from './probe.js';

/** The browser needs only the text. It must not send the address, which contains the code, to other sites. */
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

export const mcpOauthCallback = operation({
  id: 'mcpOauthCallback',
  summary: 'Finish the authorization of an MCP server; the authorization server redirects the browser here',
  description:
    'For browsers only: the authorization server redirects to this address. It answers with a page for the person.',
  query: {
    type: 'object',
    properties: {
      state: { type: 'string', description: 'The value of state in authorization_url.' },
      code: { type: 'string', description: 'The authorization code.' },
      iss: { type: 'string', description: 'The authorization server (RFC 9207).' },
      error: { type: 'string', description: 'Why the person or the authorization server refused.' },
      error_description: { type: 'string', description: 'The same in words, of which the page shows a line.' },
    },
  },
  success: {
    status: 200,
    description: 'A page that says that the server is authorized.',
    mediaType: 'text/html',
    example: '<!doctype html>…',
  },
  errors: [],
  failure: { status: 422, description: 'A page that says why the server is not authorized.', mediaType: 'text/html' },
  async handle({ ctx, deps, query, requestId, log }) {
    const page = await finish(deps, query, requestId, log);
    ctx.status = page.status;
    ctx.set(HEADERS);
    ctx.body = callbackPage(page);
  },
});

async function finish(deps: ApiDeps, query: Call['query'], requestId: string, log: Call['log']): Promise<CallbackPage> {
  let taken: TakenAuthorization | undefined;
  try {
    // Without it, anybody could begin a transaction with each request.
    if ((await deps.oauthStates.lookUp(query.state ?? '')) === null) throw unknownAuthorization();
    taken = await takeAuthorization(deps.db, query);
    const entry = entryOf(taken, requestId);
    await completeAuthorization({ ...deps, log }, taken, query, (tx) => writeEntry(tx, entry));
    auditEntries.inc({ outcome: 'ok' });
  } catch (error) {
    const reason = oauthReason(error);
    log.info({ mcp_server_id: taken?.server.id, reason }, 'the authorization of an MCP server failed');
    const parties = taken && (await partiesOf(deps.db, taken));
    return { status: 422, title: 'Not authorized', text: `mcp_oauth_failed: ${reason}.`, parties };
  }
  const { server, credential } = taken;
  const parties = await partiesOf(deps.db, taken);
  if (credential !== null) {
    deps.oauth.forget(credential.id);
    await useCredential({ ...deps, log }, server, credential.end_user);
    const text = `You have authorized the MCP server ${server.name}. The agent goes on by itself. You can close this page.`;
    return { status: 200, title: 'Authorized', text, parties };
  }
  try {
    await probeServer(deps, server);
    const text = `The MCP server ${server.name} is authorized. You can close this page.`;
    return { status: 200, title: 'Authorized', text, parties };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const text = `The MCP server ${server.name} is authorized, but its tools could not be listed. ${error.message} Probe it again later.`;
    return { status: 200, title: 'Authorized', text, parties };
  }
}

/** The entry of the one who began the authorization. One that an earlier version began does not say who. */
function entryOf({ server, row }: TakenAuthorization, requestId: string): AuditEntry {
  const nobody = { source: 'key', keyId: null, actor: null } as const;
  return {
    ...(row.begun_by ?? nobody),
    projectId: server.project_id,
    action: mcpOauthCallback.id,
    resource: { type: 'mcp_server', id: server.id },
    sessionId: null,
    details: {},
    requestId,
  };
}

async function partiesOf(db: Database, { server, row }: TakenAuthorization): Promise<Parties> {
  const project = await db.getRepository<ProjectRow>(ProjectEntity).findOneByOrFail({ id: server.project_id });
  return {
    project: project.name,
    server: server.name,
    host: new URL(server.url).host,
    issuer: row.discovery.server.issuer,
  };
}
