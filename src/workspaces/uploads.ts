import { GIB } from '../platform/units.js';

/**
 * The names of a session's attachments in its folder of uploads, in the order in which they came. They do not change when files
 * are deleted or added: the model knows them from earlier messages.
 */
export function uploadNames(files: readonly { id: string; filename: string }[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const { id, filename } of files) {
    if (names.has(id)) continue;
    const dot = filename.lastIndexOf('.');
    const [stem, extension] = dot > 0 ? [filename.slice(0, dot), filename.slice(dot)] : [filename, ''];
    const isName = filename !== '.' && filename !== '..' && Buffer.byteLength(filename) <= MAX_NAME_BYTES;
    const numbered = `${stem}-${id.slice(-6)}${extension}`;
    const byId = `${id}${Buffer.byteLength(extension) <= MAX_EXTENSION_BYTES ? extension : ''}`;
    const name = [...(isName ? [filename, numbered] : []), byId].find(
      (candidate) => !taken.has(candidate) && Buffer.byteLength(candidate) <= MAX_NAME_BYTES,
    )!;
    names.set(id, name);
    taken.add(name);
  }
  return names;
}

/** Attachments that a sandbox shows at most, and their bytes. */
export const MAX_UPLOADS = 500;
export const MAX_UPLOAD_BYTES = 2 * GIB;

/** The newest attachments that a sandbox shows, of all that are not deleted, in the order in which they came. */
export function newestUploads<File extends { size_bytes: number; storage_key: string | null }>(
  files: readonly File[],
): File[] {
  const shown: File[] = [];
  let bytes = 0;
  for (const file of files.toReversed()) {
    if (file.storage_key === null) continue;
    bytes += file.size_bytes;
    if (shown.length === MAX_UPLOADS || bytes > MAX_UPLOAD_BYTES) break;
    shown.push(file);
  }
  return shown.reverse();
}

/** Of a name in a folder, on every file system that we know. */
const MAX_NAME_BYTES = 255;
const MAX_EXTENSION_BYTES = 100;
