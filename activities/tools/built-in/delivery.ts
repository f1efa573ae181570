import type { Tx } from '../../../src/db/db.js';
import { ServiceError, type ErrorType } from '../../../src/platform/errors.js';
import type { NewEvent } from '../../../src/events/schema.js';
import { mimeTypeOf } from '../../../src/files/filename.js';
import { requireStorage } from '../../../src/files/storage-limit.js';
import { insertFile, type NewFile } from '../../../src/files/store.js';
import { newId } from '../../../src/platform/ids.js';
import type { TurnContext } from '../../../src/steps/context.js';
import { textResult, type ToolDeps, type ToolResult } from '../tool.js';

const REFUSALS: ErrorType[] = ['invalid_filename', 'storage_limit_reached'];

export function deliveredEvent({ id, filename, mime_type, size_bytes }: NewFile): NewEvent {
  return { type: 'agent.file', data: { file: { id, filename, mime_type, size_bytes } } };
}

/** The row of a file that a turn delivers. @param filename checked before */
export function newOutput(
  { projectId, sessionId, parentSessionId }: Pick<TurnContext, 'projectId' | 'sessionId' | 'parentSessionId'>,
  filename: string,
  size: number,
  storageKey: string,
): NewFile {
  return {
    id: newId('file'),
    project_id: projectId,
    filename,
    mime_type: mimeTypeOf(filename),
    size_bytes: size,
    origin: 'OUTPUT',
    // What a child delivers is its parent's.
    session_id: parentSessionId ?? sessionId,
    storage_key: storageKey,
  };
}

/** The result of a call that delivers a file whose content is stored. @param storeMore what its transaction stores first */
export function deliveredResult(
  file: NewFile,
  { maxStoragePerProject }: Pick<ToolDeps['config'], 'maxStoragePerProject'>,
  storeMore: (tx: Tx) => Promise<void> = async () => undefined,
): ToolResult {
  const { id, project_id: projectId, filename, mime_type: type, size_bytes: size } = file;
  return {
    ...textResult(`Delivered ${JSON.stringify(filename)} (${type}, ${size} bytes) as ${id}.`),
    eventsBefore: () => Promise.resolve([deliveredEvent(file)]),
    commit: async (tx) => {
      await storeMore(tx);
      await insertFile(tx, file);
      await requireStorage(tx, projectId, maxStoragePerProject);
    },
    refused: deliveryRefused,
  };
}

/** The result for the model where the file itself is refused. Other errors are thrown: Temporal retries them. */
export function deliveryRefused(error: unknown): ToolResult {
  if (!(error instanceof ServiceError) || !REFUSALS.includes(error.type)) throw error;
  return textResult(`${error.message} Nothing was delivered.`, true);
}
