import { createWriteStream, existsSync } from 'node:fs';
import { chmod, link, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ulid } from 'ulid';
import { ignored } from '../../../src/platform/ignored.js';
import { unlessAborted } from '../../../src/platform/limited-wait.js';
import type { Logger } from '../../../src/platform/logger.js';
import { GIB } from '../../../src/platform/units.js';
import type { Mount } from '../../../src/workspaces/sandbox.js';
import { isDiskFull } from '../disk-space.js';

/** Contents that no command has used for so long are removed: their file or skill may be deleted. */
const MAX_AGE_MS = 24 * 3_600_000;
/** What the contents of mounts may take on the disk of a worker; those that commands use now may be more. */
const MAX_BYTES = 10 * GIB;

export interface PlacedMount {
  source: string;
  target: string;
}

interface Copy {
  place: string;
  loaded: Promise<void>;
  isLoaded: boolean;
  bytes: number;
  /** How many sandboxes have it. */
  users: number;
  /** When a sandbox took it last, by `performance.now()`. */
  takenAt: number;
}

/** The contents of mounts on the disk of a worker: one copy for all sessions, and none is ever changed. */
export class MountStore {
  /** The least recently used first. */
  readonly #copies = new Map<string, Copy>();
  #bytes = 0;

  constructor(
    private readonly folder: string,
    private readonly log: Logger,
    private readonly maxBytes = MAX_BYTES,
  ) {}

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Brings the contents to the disk, where they stay until `release`.
   * @throws ObjectMissingError, ServiceError `storage_error`, the signal's reason
   */
  async hold(mounts: Mount[], signal: AbortSignal): Promise<{ placed: PlacedMount[]; release: () => void }> {
    const held = mounts.map((mount) => ({ ...mount, copy: this.#take(mount) }));
    const views = new Map<string, string>();
    const release = (): void => {
      for (const { copy } of held) copy.users -= 1;
      void this.#cleanUp([...views.values()]);
    };
    try {
      await unlessAborted(Promise.all(held.map(({ copy }) => copy.loaded)), signal);
      const placed: PlacedMount[] = [];
      for (const { kind, target, copy } of held) {
        if (kind === 'folder') placed.push({ source: copy.place, target });
        else await this.#link(copy.place, target, views);
      }
      for (const [target, source] of views) placed.push({ source, target });
      return { placed, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Adds a file to the folder that is mounted where its target is: bwrap takes some thousand mounts, and each takes its time. */
  async #link(place: string, target: string, views: Map<string, string>): Promise<void> {
    let view = views.get(dirname(target));
    if (view === undefined) {
      view = join(this.folder, `view-${ulid().toLowerCase()}`);
      views.set(dirname(target), view);
      await mkdir(view);
      await chmod(view, 0o755);
    }
    await link(place, join(view, basename(target)));
  }

  async #cleanUp(views: string[]): Promise<void> {
    try {
      for (const view of views) await rm(view, { recursive: true, force: true });
      await this.#evict();
    } catch (err) {
      this.log.warn({ err }, 'a mount could not be removed from the disk');
    }
  }

  #take(mount: Mount): Copy {
    const known = this.#copies.get(mount.id);
    if (known !== undefined) this.#forget(mount.id, known);
    // Someone may have cleaned the folder up.
    const copy = known !== undefined && (!known.isLoaded || existsSync(known.place)) ? known : this.#load(mount);
    copy.users += 1;
    copy.takenAt = performance.now();
    this.#copies.set(mount.id, copy);
    this.#bytes += copy.bytes;
    return copy;
  }

  #forget(id: string, copy: Copy): void {
    if (this.#copies.get(id) !== copy) return;
    this.#copies.delete(id);
    this.#bytes -= copy.bytes;
  }

  #load(mount: Mount): Copy {
    const place = join(this.folder, ulid().toLowerCase());
    const loaded = write(mount, place).then(
      (bytes) => {
        copy.isLoaded = true;
        copy.bytes = bytes;
        if (this.#copies.get(mount.id) === copy) this.#bytes += bytes;
      },
      (error: unknown) => {
        this.#forget(mount.id, copy);
        throw error;
      },
    );
    loaded.catch(ignored('those who wait for the content have the error'));
    const copy: Copy = { place, loaded, isLoaded: false, bytes: 0, users: 0, takenAt: 0 };
    return copy;
  }

  /** Removes contents that no command has used for a day. */
  async removeOld(maxAgeMs = MAX_AGE_MS): Promise<void> {
    for (const [id, copy] of this.#copies) {
      if (performance.now() - copy.takenAt < maxAgeMs) return;
      if (copy.users > 0 || !copy.isLoaded) continue;
      this.#forget(id, copy);
      await rm(copy.place, { recursive: true, force: true });
    }
  }

  async #evict(): Promise<void> {
    const isFull = await isDiskFull(this.folder);
    for (const [id, copy] of this.#copies) {
      if (!isFull && this.#bytes <= this.maxBytes) return;
      if (copy.users > 0 || !copy.isLoaded) continue;
      this.#forget(id, copy);
      await rm(copy.place, { recursive: true, force: true });
    }
  }
}

/** Writes the contents to a new place, and returns their bytes. */
async function write(mount: Mount, place: string): Promise<number> {
  const temp = `${place}.new`;
  const isFolder = mount.kind === 'folder';
  let bytes = 0;
  try {
    if (isFolder) await mkdir(temp, { mode: 0o755 });
    for await (const { path, content } of mount.contents()) {
      const file = isFolder ? join(temp, path) : temp;
      if (isFolder) await makeOpen(temp, dirname(path));
      const written = createWriteStream(file, { flags: 'wx' });
      await pipeline(Buffer.isBuffer(content) ? Readable.from([content]) : content, written);
      bytes += written.bytesWritten;
      // All files of a skill can be run.
      await chmod(file, isFolder ? 0o755 : 0o644);
    }
    if (isFolder) await chmod(temp, 0o755);
    await rename(temp, place);
    return bytes;
  } catch (error) {
    await rm(temp, { recursive: true, force: true });
    throw error;
  }
}

/** Makes the folders of a path, which every user can enter, whatever the umask. */
async function makeOpen(root: string, path: string): Promise<void> {
  if (path === '.') return;
  await makeOpen(root, dirname(path));
  await mkdir(join(root, path), { recursive: true });
  await chmod(join(root, path), 0o755);
}
