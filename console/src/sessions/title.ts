import type { Session } from '../../../client/src/index.js';

/** `metadata.title`, else the first message, names a session. */
export function titleOf({ id, metadata, preview }: Pick<Session, 'id' | 'metadata' | 'preview'>): string {
  return metadata.title ?? preview?.trim().replaceAll(/\s+/g, ' ') ?? id;
}
