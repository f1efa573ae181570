import pLimit from 'p-limit';
import type { Database } from '../db/db.js';
import type { GuardedNetwork } from '../network/network.js';
import type { Config } from '../platform/config.js';
import type { Logger } from '../platform/logger.js';
import { openGrant, type SealedGrant } from './oauth/grants.js';
import { tryRevoke } from './oauth/revoke.js';
import { notifyDropped, type DroppedCredential } from './user-credentials.js';

const PARALLEL_REVOCATIONS = 8;

export interface DropDeps {
  config: Pick<Config, 'encryptionKeys'>;
  db: Database;
  log: Logger;
  mcpNetwork: GuardedNetwork;
}

/** What is left to do after credentials were deleted or replaced: every process forgets them, and their tokens are revoked. */
export async function dropCredentials(
  deps: DropDeps,
  dropped: readonly DroppedCredential[],
  grants: readonly SealedGrant[],
): Promise<void> {
  await notifyDropped(deps.db, dropped);
  // Not awaited: a server may have thousands of users, and an authorization server may hang.
  void pLimit(PARALLEL_REVOCATIONS).map(grants, (grant) =>
    tryRevoke(deps, grant.id, () => openGrant(deps.config.encryptionKeys, grant)),
  );
}
