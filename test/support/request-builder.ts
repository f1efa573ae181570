import type { Database } from '../../src/db/db.js';
import { buildRequest, type BuildResult } from '../../activities/prompt/build-request.js';
import type { AgentKindDeps } from '../../activities/tools/agents/kind.js';
import type { CommandPlaces } from '../../activities/tools/built-in/workspace/kind.js';
import type { McpKindDeps } from '../../activities/tools/mcp/kind.js';
import { toolSources } from '../../activities/tools/sources.js';
import { offerTools } from '../../activities/tools/turn-tools.js';
import { toolAliases } from '../../src/models/aliases.js';
import { loadConversation } from '../../src/steps/conversation.js';
import { Notifier } from '../../src/stream/notify.js';
import { createLogger } from '../../src/platform/logger.js';
import { openDataSource } from '../../src/db/data-source.js';
import type { ModelEntry } from '../../src/models/catalogue.js';
import { splitAtMedia } from '../../src/models/media.js';
import { createTestDatabase } from './postgres.js';
import { openTestStorage, type TestStorage } from './storage.js';
import { TEST_MODEL } from './config.js';

/** Of a session without a budget. */
const ANY_ROOM = { find: () => Infinity, require: () => Infinity };
/** No tool runs here. */
const SOURCES = toolSources({} as McpKindDeps & AgentKindDeps, {} as CommandPlaces);

/** Builds requests out of rows, with no worker and no model. */
export interface RequestBuilder {
  db: Database;
  files: TestStorage;
  build(turnId: string, model?: Partial<ModelEntry>): Promise<BuildResult>;
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
      const entry: ModelEntry = { ...TEST_MODEL, id: 'scripted', model: 'scripted-1', ...model };
      const log = createLogger('silent', 'test');
      const deps = { db, storage: files.storage, log, notifier: new Notifier(db, log) };
      const loaded = await loadConversation(db, turnId);
      const limits = { toolDefinitionTokens: 0, contextWindow: entry.context_window };
      const offered = offerTools(SOURCES, loaded, limits).map(({ definition }) => definition);
      const tools = { offered, aliases: toolAliases(offered.map(({ name }) => name)), tools: offered };
      const countTokens = async (): Promise<null> => null;
      const options = { entry, ...tools, countTokens, compacted: true, undercount: 1, room: ANY_ROOM };
      const built = await buildRequest(deps, loaded, options, new AbortController().signal);
      return built.kind === 'request' ? { ...built, request: await withMedia(built.request, files) } : built;
    },
    async close() {
      await db.destroy();
      await database.drop();
      files.remove();
    },
  };
}

/** The request as it leaves: bytes in place of the placeholders. */
async function withMedia<Request>(request: Request, { storage }: TestStorage): Promise<Request> {
  const parts = splitAtMedia(JSON.stringify(request)).map(async (part) =>
    typeof part === 'string' ? part : (await storage.read(part.key, part.bytes)).toString('base64'),
  );
  return JSON.parse((await Promise.all(parts)).join('')) as Request;
}
