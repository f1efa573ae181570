import type { Storage } from '../files/storage.js';
import { FairQueue } from '../platform/fair-queue.js';
import { EMPTY_MANIFEST, type Manifest } from './manifest.js';
import { ManifestCache } from './manifest-cache.js';
import { readManifest } from './store.js';

/** Manifests that are read and decoded at once: one of 20,000 entries takes some 20 MiB. */
const READS = { total: 4, perProject: 2 };

/** Reads manifests for requests: each once for all who ask for it, a few at a time, the projects in turn. */
export class ManifestReader {
  readonly #cache = new ManifestCache();
  readonly #reads = new FairQueue(READS);
  readonly #underWay = new Map<string, Promise<Manifest>>();

  constructor(private readonly storage: Storage) {}

  /** @throws ObjectMissingError, ServiceError `storage_error` */
  async read(projectId: string, key: string | null): Promise<Manifest> {
    if (key === null) return EMPTY_MANIFEST;
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) return underWay;
    // All who ask for a manifest share its read, so that none of them can give it up.
    const load = (): Promise<Manifest> => this.#reads.within(projectId, () => readManifest(this.storage, key));
    const read = this.#cache.read(key, load);
    this.#underWay.set(key, read);
    try {
      return await read;
    } finally {
      this.#underWay.delete(key);
    }
  }
}
