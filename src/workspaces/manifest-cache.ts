import { ByteCache } from '../platform/byte-cache.js';
import { MIB } from '../platform/units.js';
import type { Manifest } from './manifest.js';

/** Estimate for an entry beside its path: the object, its digest and its place. */
const BYTES_PER_ENTRY = 400;
const MAX_CACHED = 32 * MIB;

/** Decoded manifests of this process, those that were read last: a call reads the one that the call before has stored. */
export class ManifestCache {
  readonly #kept = new ByteCache<Manifest>(MAX_CACHED);

  async read(key: string | null, load: (key: string | null) => Promise<Manifest>): Promise<Manifest> {
    if (key === null) return load(key);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const manifest = await load(key);
    this.keep(key, manifest);
    return manifest;
  }

  keep(key: string, manifest: Manifest): void {
    this.#kept.set(key, manifest, bytesOf(manifest));
  }
}

function bytesOf({ entries }: Manifest): number {
  const textOf = (entry: Manifest['entries'][number]): number =>
    entry.path.length + (entry.kind === 'symlink' ? entry.target.length : 0);
  return entries.reduce((sum, entry) => sum + BYTES_PER_ENTRY + 2 * textOf(entry), 0);
}
