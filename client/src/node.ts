import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import type { UploadSource } from './upload.js';

/** A local file to upload, under its own name or another one. It is read while it is sent. */
export async function fromPath(path: string, filename = basename(path)): Promise<UploadSource> {
  return { filename, content: await openAsBlob(path) };
}
