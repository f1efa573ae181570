import { ServiceError } from '../platform/errors.js';

export const MAX_METADATA_PAIRS = 16;
export const MAX_METADATA_PATCH_KEYS = 32;
export const MAX_METADATA_KEY_LENGTH = 64;
export const MAX_METADATA_VALUE_LENGTH = 512;

export type Metadata = Record<string, string>;

/**
 * Applies a JSON Merge Patch (RFC 7396) to metadata: a value sets its key, null deletes it, absent keys stay. A key
 * such as `__proto__` is an ordinary key, so this code never assigns to a property.
 * @throws ServiceError `metadata_too_large` if more than 16 pairs remain
 */
export function mergeMetadata(metadata: Metadata, patch: Record<string, string | null>): Metadata {
  const merged = new Map(Object.entries(metadata));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, value);
  }
  if (merged.size > MAX_METADATA_PAIRS) {
    throw new ServiceError(
      'metadata_too_large',
      `The session would have ${merged.size} metadata pairs, at most ${MAX_METADATA_PAIRS} are allowed. Delete keys by setting them to null.`,
    );
  }
  return Object.fromEntries(merged);
}
