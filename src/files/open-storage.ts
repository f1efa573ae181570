import type { Config } from '../platform/config.js';
import { openGcsStorage } from './gcs.js';
import { openLocalStorage } from './local.js';
import type { Storage } from './storage.js';

export async function openStorage(
  config: Pick<Config, 'storageUrl' | 'publicUrl' | 'encryptionKeys'>,
): Promise<Storage> {
  return config.storageUrl.startsWith('gs://') ? openGcsStorage(config.storageUrl) : openLocalStorage(config);
}
