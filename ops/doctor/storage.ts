import { randomUUID } from 'node:crypto';
import type { Config } from '../../src/platform/config.js';
import { verifyLink } from '../../src/files/download-link.js';
import { openDataSource } from '../../src/db/data-source.js';
import { OWNER_ERRORS, storageOwner } from '../../src/files/ownership.js';
import { openStorage } from '../../src/files/open-storage.js';
import type { Storage } from '../../src/files/storage.js';
import { CheckError, type Check } from './check.js';

const LINK_SECONDS = 60;

export function storageCheck(config: Config): Check {
  const isBucket = config.storageUrl.startsWith('gs://');
  return {
    part: 'storage',
    remedy: isBucket
      ? 'Check the bucket in STORAGE_URL and that the service account has roles/storage.objectUser on it.'
      : 'Check that the folder of STORAGE_URL (or DATA_DIR) exists and belongs to the user of this process.',
    async run() {
      const storage = await openStorage(config);
      const content = Buffer.from(randomUUID());
      // A key that maintenance cleans up if this process dies before the delete.
      const key = `tmp/doctor-${randomUUID()}`;
      await storage.put(key, content, { contentType: 'text/plain' });
      try {
        const read = await storage.read(key, 100);
        if (!read.equals(content))
          throw new CheckError('reads something else than was written', 'Is it shared with another?');
        await (isBucket ? fetchLink(storage, key, content) : checkLink(storage, config, key));
      } finally {
        await storage.delete(key);
      }
      await checkOwner(config, storage);
      return `${config.storageUrl}: put, read, signed link, delete`;
    },
  };
}

/** Two installations on the same storage would remove each other's objects as orphans. */
async function checkOwner({ databaseUrl }: Config, storage: Storage): Promise<void> {
  const db = await openDataSource(databaseUrl, 1, 'doctor').catch(() => null);
  if (db === null) return;
  try {
    const owner = await storageOwner(db, storage);
    if (owner === 'copied' || owner === 'foreign')
      throw new CheckError('belongs to another database', OWNER_ERRORS[owner]);
  } finally {
    await db.destroy();
  }
}

const linked = (key: string) => ({
  id: 'file_doctor',
  storage_key: key,
  filename: 'doctor.txt',
  mime_type: 'text/plain',
});

async function fetchLink(storage: Storage, key: string, content: Buffer): Promise<void> {
  const remedy =
    'The service account must be allowed to sign for itself: roles/iam.serviceAccountTokenCreator on its own account.';
  const url = await storage.downloadUrl(linked(key), LINK_SECONDS).catch((error: Error) => {
    throw new CheckError(
      `no signed link: ${error.cause instanceof Error ? error.cause.message : error.message}`,
      remedy,
    );
  });
  const response = await fetch(url);
  if (!response.ok) throw new CheckError(`the signed link answers ${response.status}`, remedy);
  if (!Buffer.from(await response.arrayBuffer()).equals(content))
    throw new CheckError('the signed link serves other bytes', remedy);
}

/** The API serves local links, so here only the signature is checked. */
async function checkLink(storage: Storage, { encryptionKeys }: Config, key: string): Promise<void> {
  const url = new URL(await storage.downloadUrl(linked(key), LINK_SECONDS));
  verifyLink('file_doctor', Object.fromEntries(url.searchParams), encryptionKeys);
}
