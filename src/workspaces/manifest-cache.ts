import { MIB } from '../platform/units.js';
import type { Manifest } from './manifest.js';

/** Estimate for an entry beside its path: the object, its digest and its place. */
const BYTES_PER_ENTRY = 400;
const MAX_CACHED = 32 * MIB;

/** Decoded manifests of this process, those that were read last: a call reads the one that the call before has stored. */
export class ManifestCache {
  readonly #kept = new Map<string, { manifest: Manifest; bytes: number }>();
  #bytes = 0;

  async read(key: string | null, load: (key: string | null) => Promise<Manifest>): Promise<Manifest> {
    const kept = key === null ? undefined : this.#kept.get(key);
    if (kept !== undefined) {
      this.keep(key!, kept.manifest);
      return kept.manifest;
    }
    const manifest = await load(key);
    if (key !== null) this.keep(key, manifest);
    return manifest;
  }

  keep(key: string, manifest: Manifest): void {
    this.#forget(key);
    const bytes = bytesOf(manifest);
    if (bytes > MAX_CACHED) return;
    this.#kept.set(key, { manifest, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= MAX_CACHED) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

function bytesOf({ entries }: Manifest): number {
  const textOf = (entry: Manifest['entries'][number]): number =>
    entry.path.length + (entry.kind === 'symlink' ? entry.target.length : 0);
  return entries.reduce((sum, entry) => sum + BYTES_PER_ENTRY + 2 * textOf(entry), 0);
}
