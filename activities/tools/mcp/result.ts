import { createHash } from 'node:crypto';
import { storageKey } from '../../../src/files/storage.js';
import type { Cleaner } from '../../../src/mcp/cleaner.js';
import { readToolAnswer } from '../../../src/mcp/tool-answer.js';
import type { ResultBlock } from '../../../src/models/content.js';
import type { JsonObject } from '../../../src/platform/json-object.js';
import type { ToolCall, ToolDeps, ToolResult } from '../tool.js';

type ImageBlock = Extract<ResultBlock, { type: 'image' }>;

/**
 * Converts a tool's answer to blocks for the model. Its images go to the file storage.
 * @throws the signal's reason when `call.signal` aborts
 */
export function mcpResult(
  answer: JsonObject,
  call: Pick<ToolCall, 'toolUseId' | 'signal'> & { turn: { id: string } },
  { storage, log }: Pick<ToolDeps, 'storage' | 'log'>,
  cleaner: Cleaner,
): Promise<ToolResult> {
  return readToolAnswer<ImageBlock>(answer, {
    cleaner,
    signal: call.signal,
    keepImage: async ({ bytes, mediaType }, index) => {
      const storage_key = storageKey('results', call.turn.id, `${hashOf(call.toolUseId)}-${index}`);
      try {
        await storage.put(storage_key, bytes, { contentType: mediaType, size: bytes.length });
        return { type: 'image', media_type: mediaType, storage_key };
      } catch (err) {
        // The tool has run. Losing the whole result because of one image would be worse.
        log.warn({ err, turn_id: call.turn.id }, 'an image of a tool result could not be stored');
        return 'lost, the file storage was unavailable';
      }
    },
  });
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
