import { endAuthorizedWaits } from '../../../src/waits/login.js';
import type { McpServerRow } from '../../../src/db/entities/mcp-servers.js';
import type { OauthAccess } from '../../../src/mcp/oauth/tokens.js';
import type { SealedGrant } from '../../../src/mcp/oauth/grants.js';
import { dropCredentials as drop, type DropDeps } from '../../../src/mcp/drop-credentials.js';
import { findCredentialOf, type DroppedCredential } from '../../../src/mcp/user-credentials.js';
import { ServiceError } from '../../../src/platform/errors.js';
import type { Logger } from '../../../src/platform/logger.js';
import { signalAnswers } from '../../../src/waits/signal-answers.js';
import type { ApiDeps } from '../../deps.js';
import { probeServer } from '../probe.js';

/**
 * Runs the calls that wait for this credential, in all sessions of the user. Call it after the commit. A server whose tools were
 * never listed is probed with it.
 */
export async function useCredential(
  deps: ApiDeps & { log: Logger },
  server: McpServerRow,
  user: string,
): Promise<void> {
  const turns = await endAuthorizedWaits(deps.db, { serverId: server.id, user });
  for (const turnId of turns) signalAnswers(deps, turnId);
  if (turns.length > 0) deps.log.info({ mcp_server_id: server.id }, 'waiting calls can go on');
  if (server.last_probed_at !== null) return;
  const credential = await findCredentialOf(deps.db, server.id, user);
  if (credential?.is_usable !== true) return;
  await probeServer(deps, { ...server, user_credential: credential }).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    deps.log.info({ mcp_server_id: server.id, reason: error.message }, 'a server was not probed as its first user');
  });
}

/** As `drop-credentials` of src/mcp; this process forgets them at once. */
export async function dropCredentials(
  deps: DropDeps & { oauth: OauthAccess },
  dropped: readonly DroppedCredential[],
  grants: readonly SealedGrant[],
): Promise<void> {
  for (const { id } of dropped) deps.oauth.forget(id);
  await drop(deps, dropped, grants);
}
