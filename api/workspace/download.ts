import { pipeline, Transform, type Readable } from 'node:stream';

/** The errors of a download from a workspace. */
export const DOWNLOAD_ERRORS = [
  'session_not_found',
  'workspace_not_found',
  'workspace_file_not_found',
  'validation_error',
  'too_many_requests',
  'storage_error',
] as const;

/**
 * Passes a content on, and fails at its end if that is too early. Then the connection is closed: the client sees that it has not got
 * all.
 */
export function whole(content: Readable, size: number): Readable {
  let missing = size;
  const checked = new Transform({
    transform(chunk: Buffer, _, done) {
      missing -= chunk.length;
      done(null, chunk);
    },
    flush(done) {
      done(missing === 0 ? null : new Error('an object is shorter than its workspace says'));
    },
  });
  // A failure of either destroys both, and Koa takes it from the body.
  return pipeline(content, checked, () => undefined);
}
