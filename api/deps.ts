import type { DataSource } from 'typeorm';
import type { Config } from '../src/config.js';
import { openDataSource } from '../src/db/data-source.js';
import { openStorage } from '../src/files/open-storage.js';
import type { Storage } from '../src/files/storage.js';
import type { Logger } from '../src/log.js';
import { createMcpNetwork, type McpNetwork } from '../src/mcp/network.js';
import { loadModels, type ModelCatalogue } from '../src/models/catalogue.js';
import { createKeyLookup, type KeyLookup } from '../src/projects/key-cache.js';
import { createRateLimiter, type RateLimiter } from '../src/projects/limits.js';
import type { PartState } from './http/health.js';

/** What operations work with; made once by main. Each resource adds what it needs. */
export interface ApiDeps {
  config: Config;
  db: DataSource;
  log: Logger;
  storage: Storage;
  models: ModelCatalogue;
  /** The way to MCP servers: opens sockets to checked addresses only. */
  mcpNetwork: McpNetwork;
  keyLookup: KeyLookup;
  rateLimiter: RateLimiter;
  /** How Temporal and the workers do, for `/readyz`. */
  health: () => Promise<{ temporal: PartState; worker: PartState }>;
}

/** Opens what the API works with. Turn parts (feed, Temporal) come on top, from main. */
export async function createDeps(config: Config, log: Logger): Promise<ApiDeps> {
  const models = await loadModels(config);
  const db = await openDataSource(config.databaseUrl, config.databasePoolSize, 'api');
  return {
    config,
    db,
    log,
    storage: openStorage(config),
    models,
    mcpNetwork: createMcpNetwork(config.mcpAllowedHosts),
    keyLookup: createKeyLookup(db),
    rateLimiter: createRateLimiter(db, config.rateLimitPerMinute),
    health: async () => ({ temporal: 'away', worker: 'away' }),
  };
}
