import { createReadStream } from 'node:fs';
import { access, constants, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { Config } from '../platform/config.js';
import { signedPath } from './download-link.js';
import { checkedKey, ObjectMissingError, storageError, type Storage, type StoredObject } from './storage.js';
import { ignored } from '../platform/ignored.js';
import { uniqueName } from '../platform/ids.js';

/** The folder of unfinished writes. It holds valid keys, so that maintenance finds what a crash left there. */
const TEMP = 'tmp';

/**
 * File storage on local disk. `publicUrl` is read for each link, because it may be known only once the server listens.
 */
export function openLocalStorage(config: Pick<Config, 'storageUrl' | 'publicUrl' | 'encryptionKeys'>): Storage {
  const root = resolve(fileURLToPath(config.storageUrl));
  const pathOf = (key: string): string => join(root, checkedKey(key));

  return {
    async put(key, content) {
      const target = pathOf(key);
      const temp = join(root, TEMP, uniqueName());
      try {
        await makeFolder(dirname(temp));
        // Opened before the pipeline: a source that breaks off at once must find the file that is removed below.
        const file = await open(temp, 'wx', 0o600);
        await pipeline(
          Buffer.isBuffer(content) ? Readable.from([content], { objectMode: false }) : content,
          file.createWriteStream({ flush: true }),
        );
        const { size } = await stat(temp);
        await moveInto(root, temp, target);
        return size;
      } catch (error) {
        if (!Buffer.isBuffer(content)) content.destroy();
        await rm(temp, { force: true }).catch(ignored('maintenance removes old temporary files'));
        throw storageError(error);
      }
    },

    async open(key, range = { start: 0 }) {
      const handle = await open(pathOf(key), 'r').catch((error: unknown) => fail(key, error));
      return createReadStream('', { fd: handle, ...range, highWaterMark: 256 * 1024 });
    },

    async read(key, maxBytes, start = 0) {
      const handle = await open(pathOf(key), 'r').catch((error: unknown) => fail(key, error));
      try {
        const { size } = await handle.stat();
        const bytes = Buffer.alloc(Math.max(0, Math.min(maxBytes, size - start)));
        const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
        return bytes.subarray(0, bytesRead);
      } catch (error) {
        throw storageError(error);
      } finally {
        await handle.close();
      }
    },

    async size(key) {
      const found = await stat(pathOf(key)).catch((error: unknown) => fail(key, error));
      return found.size;
    },

    async delete(key) {
      await rm(pathOf(key), { force: true }).catch((error: unknown) => {
        throw storageError(error);
      });
    },

    list: (prefix, after = '') => walk(root, '', prefix, after),

    async downloadUrl(file, expiresSeconds) {
      const expires = Math.floor(Date.now() / 1000) + expiresSeconds;
      return `${config.publicUrl}${signedPath(file.id, expires, config.encryptionKeys)}`;
    },

    async check() {
      try {
        await makeFolder(root);
        await access(root, constants.W_OK);
      } catch (error) {
        throw storageError(error);
      }
    },
  };
}

/** Only this user may access the files. The modes are explicit, because only `npm start` sets a umask. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** Renames the file and syncs its folder and all parents up to the root, so that the name survives a power cut. */
async function moveInto(root: string, temp: string, target: string): Promise<void> {
  await makeFolder(dirname(target));
  await rename(temp, target);
  for (let folder = dirname(target); ; folder = dirname(folder)) {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (folder === root || dirname(folder) === folder) return;
  }
}

function fail(key: string, error: unknown): never {
  if (isMissing(error)) throw new ObjectMissingError(key);
  throw storageError(error);
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

async function* walk(root: string, folder: string, prefix: string, after: string): AsyncGenerator<StoredObject> {
  for (const name of await entriesOf(join(root, folder))) {
    const key = folder + name;
    if (key.endsWith('/')) {
      const holdsWanted = (key.startsWith(prefix) || prefix.startsWith(key)) && (key > after || after.startsWith(key));
      if (holdsWanted) yield* walk(root, key, prefix, after);
    } else if (key.startsWith(prefix) && key > after) {
      const found = await stat(join(root, key)).catch(() => null);
      if (found !== null) yield { key, size: found.size, createdAt: found.mtime };
    }
  }
}

/** Lists files and folders. A folder ends in a slash, so that it sorts as its keys do. */
async function entriesOf(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const names = entries
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
    return names.sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw storageError(error);
  }
}
