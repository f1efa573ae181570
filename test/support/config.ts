import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, type Config } from '../../src/platform/config.js';
import type { ModelEntry } from '../../src/models/catalogue.js';

/** A model that nothing answers for. */
export const TEST_MODEL: ModelEntry = {
  id: 'test-model',
  display_name: 'Test model',
  model: 'test-model',
  base_url: 'http://127.0.0.1:9',
  context_window: 200_000,
  max_output_tokens: 8_000,
  supports_thinking: true,
};

/**
 * Settings on the database, with a folder of their own that `remove` removes. Tests of webhooks switch the deliveries
 * on: they cost each worker a thread.
 */
export function testConfig(
  databaseUrl: string,
  models: ModelEntry[],
  overrides: Partial<Config>,
): { config: Config; remove: () => void } {
  const dir = mkdtempSync(join(process.env.TEST_STATE_DIR ?? tmpdir(), 'service-'));
  // The users of sandboxes must reach it: then the sandboxes are below it too, and go with it.
  chmodSync(dir, 0o711);
  const modelsFile = join(dir, 'models.json');
  writeFileSync(modelsFile, JSON.stringify(models));
  const config = loadConfig({
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR: dir,
    MODELS_FILE: modelsFile,
    MAINTENANCE: 'off',
    WEBHOOK_DELIVERIES: 'off',
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent',
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '0',
    SHUTDOWN_GRACE_SECONDS: '5',
    TASK_QUEUE: `test-${randomUUID()}`,
  });
  return {
    config: { ...config, ...overrides },
    // A worker that has closed is still unmounting the file systems of its trees.
    remove: () => rmSync(dir, { recursive: true, force: true, maxRetries: 20 }),
  };
}
