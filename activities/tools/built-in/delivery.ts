import { ServiceError, type ErrorType } from '../../../src/platform/errors.js';
import type { NewEvent } from '../../../src/events/schema.js';
import type { NewFile } from '../../../src/files/store.js';
import { textResult, type ToolResult } from '../tool.js';

const REFUSALS: ErrorType[] = ['invalid_filename', 'storage_limit_reached'];

export function deliveredEvent({ id, filename, mime_type, size_bytes }: NewFile): NewEvent {
  return { type: 'agent.file', data: { file: { id, filename, mime_type, size_bytes } } };
}

/** The result for the model where the file itself is refused. Other errors are thrown: Temporal retries them. */
export function deliveryRefused(error: unknown): ToolResult {
  if (!(error instanceof ServiceError) || !REFUSALS.includes(error.type)) throw error;
  return textResult(`${error.message} Nothing was delivered.`, true);
}
