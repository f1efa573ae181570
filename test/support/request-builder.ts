import type { DataSource } from 'typeorm';
import type { ActivityDeps } from '../../activities/deps.js';
import { buildRequest, type BuiltRequest } from '../../activities/prompt/build-request.js';
import { ModelClients } from '../../activities/model/clients.js';
import { loadTurn } from '../../activities/turn/turn-context.js';
import { openDataSource } from '../../src/db/data-source.js';
import type { ModelEntry } from '../../src/models/catalogue.js';
import { createTestDatabase } from './postgres.js';
import { openTestStorage, type TestStorage } from './storage.js';

/** Builds requests out of rows, with no worker and no model. */
export interface RequestBuilder {
  db: DataSource;
  files: TestStorage;
  build(turnId: string, model?: Partial<ModelEntry>): Promise<BuiltRequest | 'compact'>;
  close(): Promise<void>;
}

export async function openRequestBuilder(): Promise<RequestBuilder> {
  const database = await createTestDatabase();
  const db = await openDataSource(database.url, 4, 'test');
  const files = openTestStorage();
  return {
    db,
    files,
    async build(turnId, model = {}) {
      const entry: ModelEntry = {
        id: 'scripted',
        display_name: 'Scripted',
        model: 'scripted-1',
        // Nobody counts tokens there: by estimate.
        base_url: 'http://127.0.0.1:9',
        context_window: 200_000,
        max_output_tokens: 8_000,
        supports_thinking: true,
        ...model,
      };
      const models = new ModelClients(new Map([[entry.id, entry]]), {});
      const deps = { db, storage: files.storage, models } as unknown as ActivityDeps;
      const turn = await loadTurn(db, turnId);
      return buildRequest(deps, turn, { compacted: true, undercount: 1 }, new AbortController().signal);
    },
    async close() {
      await db.destroy();
      await database.drop();
      files.remove();
    },
  };
}
