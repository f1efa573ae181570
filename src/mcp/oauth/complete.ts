import type { Database, Tx } from '../../db/db.js';
import type { McpOauthRow } from '../../db/entities/mcp-oauth.js';
import type { McpServerRow } from '../../db/entities/mcp-servers.js';
import { transaction } from '../../db/transaction.js';
import { findServerById } from '../find-servers.js';
import { findCredentialById, type UserCredential } from '../user-credentials.js';
import type { Logger } from '../../platform/logger.js';
import type { OauthDeps } from './authorize.js';
import { OauthFailure } from './failure.js';
import { isSameParty, openGrant, storeGrant, type Grant } from './grants.js';
import { refusalOf } from './post.js';
import { requestTokens } from './request-tokens.js';
import { tryRevoke } from './revoke.js';
import { openClient, openCodeVerifier, takeState } from './store.js';

/** The parameters of the authorization response (RFC 6749 §4.1.2, RFC 9207). */
interface CallbackParameters {
  state?: string;
  code?: string;
  error?: string;
  error_description?: string;
  iss?: string;
}

/** An authorization whose state was consumed. `server` is as it was at that moment. */
export interface TakenAuthorization {
  row: McpOauthRow;
  server: McpServerRow;
  /** The credential of a user that is authorized; null: the server itself is. */
  credential: UserCredential | null;
}

/** Consumes the state of a callback. @throws OauthFailure if it is unknown, used or expired */
export async function takeAuthorization(db: Database, { state = '' }: CallbackParameters): Promise<TakenAuthorization> {
  const taken = await transaction(db, async (tx) => {
    const row = state === '' ? null : await takeState(tx, state);
    const credential = row === null ? null : await findCredentialById(tx, row.id);
    const server = row === null ? null : await findServerById(tx, credential?.mcp_server_id ?? row.id);
    return row === null || server === null ? null : { row, server, credential };
  });
  if (taken === null) throw unknownAuthorization();
  return taken;
}

export function unknownAuthorization(): OauthFailure {
  return new OauthFailure(
    'this authorization is unknown, was used already, or is older than 10 minutes; start it again',
  );
}

/**
 * Finishes an authorization: checks the issuer, exchanges the code and stores the tokens. Tokens of another authorization
 * server or client that they replace are revoked there.
 * @param record runs in the transaction that stores the tokens
 * @throws OauthFailure, OauthUnavailableError
 */
export async function completeAuthorization(
  deps: OauthDeps & { db: Database; log: Logger },
  { row, server, credential }: TakenAuthorization,
  parameters: CallbackParameters,
  record: (tx: Tx) => void,
): Promise<void> {
  const keys = deps.config.encryptionKeys;
  checkIssuer(row, parameters.iss);
  if (parameters.error !== undefined) {
    if (parameters.error === 'access_denied') throw new OauthFailure('access was denied');
    throw refusalOf({ ...parameters }, [openCodeVerifier(keys, row)]);
  }
  if (parameters.code === undefined) throw new OauthFailure('the authorization server sent no code');
  const grant = await exchange(deps, row, parameters.code);
  const { credential_version } = credential ?? server;
  const replaced = await transaction(deps.db, async (tx) => {
    const old = await storeGrant(tx, keys, row.id, grant, credential_version);
    if (old !== null) record(tx);
    return old;
  });
  if (replaced === null) {
    await tryRevoke(deps, row.id, () => grant);
    throw new OauthFailure('the MCP server was changed meanwhile; start the authorization again');
  }
  await tryRevoke(deps, row.id, () => {
    const old = openGrant(keys, replaced);
    return old === null || isSameParty(old, grant) ? null : old;
  });
}

/** RFC 9207 §2.4: never send the code to an authorization server that did not issue it. */
function checkIssuer({ discovery: { server } }: McpOauthRow, iss: string | undefined): void {
  if (iss === undefined && server.authorization_response_iss_parameter_supported !== true) return;
  if (iss !== server.issuer) throw new OauthFailure('the response does not come from its authorization server (iss)');
}

async function exchange({ config, mcpNetwork }: OauthDeps, row: McpOauthRow, code: string): Promise<Grant> {
  const { server, resource } = row.discovery;
  const { tokens, client } = await requestTokens(
    mcpNetwork,
    { server, client: openClient(config.encryptionKeys, row) },
    {
      grant_type: 'authorization_code',
      code,
      code_verifier: openCodeVerifier(config.encryptionKeys, row),
      redirect_uri: row.redirect_uri,
      resource,
    },
  );
  return { tokens, client, server, resource };
}
