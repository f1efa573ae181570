import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import type { UploadSource } from './upload.js';

/** A file of this machine, to upload under its own name or another; it is read while it is sent. */
export async function fromPath(path: string, filename = basename(path)): Promise<UploadSource> {
  return { filename, content: await openAsBlob(path) };
}
