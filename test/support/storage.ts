import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openLocalStorage } from '../../src/files/local.js';
import { openStorage } from '../../src/files/open-storage.js';
import type { Storage } from '../../src/files/storage.js';
import type { TestService } from './service.js';

/** A local storage in a folder of its own. */
export interface TestStorage {
  storage: Storage;
  folder: string;
  remove(): void;
}

export function openTestStorage(): TestStorage {
  const folder = mkdtempSync(join(tmpdir(), 'storage-'));
  const storage = openLocalStorage({
    storageUrl: pathToFileURL(folder).href,
    publicUrl: 'http://service.example',
    encryptionKeys: [Buffer.alloc(32, 1)],
  });
  return { storage, folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The keys of the objects that a service has stored, in order. */
export async function storedKeys({ config }: Pick<TestService, 'config'>, prefix = ''): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of (await openStorage(config)).list(prefix)) keys.push(key);
  return keys;
}
