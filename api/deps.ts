import { RefusalLog } from '../src/audit/refusals.js';
import type { Database } from '../src/db/db.js';
import type { Config } from '../src/platform/config.js';
import { BatchLookup } from '../src/db/batch-lookup.js';
import { openDataSource, openBackgroundPool } from '../src/db/data-source.js';
import { openWhenReachable, postgresState, waitForSchema } from '../src/db/schema-version.js';
import { openStorage } from '../src/files/open-storage.js';
import type { Storage } from '../src/files/storage.js';
import type { Logger } from '../src/platform/logger.js';
import { MIB } from '../src/platform/units.js';
import { ManifestReader } from '../src/workspaces/manifest-reader.js';
import { createReadiness, type Readiness } from '../src/platform/readiness.js';
import { createMcpNetwork, type GuardedNetwork } from '../src/network/network.js';
import { findStates } from '../src/mcp/oauth/store.js';
import { Probes } from '../src/mcp/probes.js';
import { ToolTrials } from '../src/mcp/tool-trials.js';
import { MemoryShare } from '../src/platform/memory-share.js';
import { OauthAccess } from '../src/mcp/oauth/tokens.js';
import { loadModels, type ModelCatalogue } from '../src/models/catalogue.js';
import { createKeyLookup, type KeyLookup } from '../src/projects/key-cache.js';
import { KeyUse } from '../src/projects/key-use.js';
import { SchemaChecks } from '../src/outputs/schema-checks.js';
import { createRateLimiter, createTokenLimiter, type RateLimiter, type TokenLimiter } from '../src/projects/limits.js';
import { SessionTokens } from '../src/projects/session-token.js';
import { BodyRoom } from './http/core/body-room.js';
import { LongWrites } from './http/core/long-writes.js';
import { ReadSlots } from './http/core/read-slots.js';
import { UploadSlots } from './http/upload/upload-slots.js';
import { openTurnServices, type SharedWorker, type TurnServices } from './turn-services.js';

/** Dependencies of the operations, created once by main. Each resource adds its own. */
export interface ApiDeps extends TurnServices {
  config: Config;
  db: Database;
  log: Logger;
  storage: Storage;
  models: ModelCatalogue;
  /** The network for MCP servers: it connects to checked addresses only. */
  mcpNetwork: GuardedNetwork;
  probes: Probes;
  toolTrials: ToolTrials;
  oauth: OauthAccess;
  /** Finds the states of OAuth authorizations that have begun. */
  oauthStates: BatchLookup<true>;
  keyLookup: KeyLookup;
  /** Requests of keys that were refused, in the audit log. */
  refusals: RefusalLog;
  sessionTokens: SessionTokens;
  rateLimiter: RateLimiter;
  tokenLimiter: TokenLimiter;
  readiness: Readiness;
  uploads: UploadSlots;
  bodies: BodyRoom;
  schemaChecks: SchemaChecks;
  reads: ReadSlots;
  longWrites: LongWrites;
  /** Manifests of workspaces. */
  manifests: ManifestReader;
  /** Downloads from workspaces that are under way. */
  downloads: ReadSlots;
}

/**
 * Downloads from workspaces at once, of which each has up to a file of 4 MiB in memory: 16 in a process and half of them for one
 * project, but always one for each project.
 */
const DOWNLOADS = {
  maxReadsPerProject: 8,
  maxPreparedPerProject: 8,
  maxUnreadBytes: 64 * MIB,
  reservedBytes: 4 * MIB,
  // How long one takes is up to its client.
  slowReadMs: Infinity,
};

/** Creates the dependencies of the API. `shared`: a worker in this process. */
export async function openDeps(
  config: Config,
  log: Logger,
  shared?: SharedWorker,
): Promise<{ deps: ApiDeps; close(): Promise<void> }> {
  const models = await loadModels(config);
  const db = await openWhenReachable(() => openDataSource(config.databaseUrl, config.databasePoolSize, 'api'), log);
  await waitForSchema(db, log);
  const backgroundPool = await openWhenReachable(() => openBackgroundPool(config.databaseUrl, 'api'), log);
  const turns = openTurnServices(config, { db, backgroundPool, models, log }, shared);
  const mcpNetwork = createMcpNetwork(config.mcpAllowedHosts);
  const mcpMemory = new MemoryShare(config.mediaBudgetBytes, Math.ceil(config.mediaBudgetBytes / 2));
  const keyUse = new KeyUse(db, log);
  const storage = await openStorage(config);
  const deps = {
    config,
    db,
    log,
    storage,
    models,
    mcpNetwork,
    probes: new Probes(mcpNetwork, mcpMemory),
    toolTrials: new ToolTrials(mcpNetwork, mcpMemory),
    oauth: new OauthAccess({ db, mcpNetwork, config, log }),
    oauthStates: new BatchLookup((states) => findStates(db, states)),
    keyLookup: createKeyLookup(db, keyUse),
    refusals: new RefusalLog(db, log),
    sessionTokens: new SessionTokens(config.encryptionKeys),
    rateLimiter: createRateLimiter(db, config.rateLimitPerMinute),
    tokenLimiter: createTokenLimiter(db),
    uploads: new UploadSlots(config.uploadBudgetBytes),
    bodies: new BodyRoom(),
    schemaChecks: new SchemaChecks(),
    reads: new ReadSlots(),
    longWrites: new LongWrites(config.databasePoolSize),
    manifests: new ManifestReader(storage),
    downloads: new ReadSlots(DOWNLOADS),
    readiness: createReadiness(async () => {
      const [state, parts] = await Promise.all([postgresState(db), turns.parts.health()]);
      return { ...state, ...parts, sandbox: config.sandboxProvider === 'off' ? 'off' : 'ok' };
    }),
    ...turns.parts,
  };
  return {
    deps,
    async close() {
      await Promise.all([deps.oauth.close(), keyUse.close(), deps.schemaChecks.close()]);
      await Promise.all([turns.close(), mcpNetwork.close()]);
      await Promise.all([db.destroy(), backgroundPool.destroy()]);
    },
  };
}
