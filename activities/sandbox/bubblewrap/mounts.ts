import { createHash } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { chmod, link, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FairQueue } from '../../../src/platform/fair-queue.js';
import { ignored } from '../../../src/platform/ignored.js';
import { unlessAborted } from '../../../src/platform/limited-wait.js';
import type { Logger } from '../../../src/platform/logger.js';
import { GIB } from '../../../src/platform/units.js';
import { SandboxFailedError, type Mount } from '../../../src/workspaces/sandbox.js';
import { hasRoomFor, isDiskFull } from '../disk-space.js';
import { uniqueName } from '../../../src/platform/ids.js';

/** Contents that no command has used for so long are removed: their file or skill may be deleted. */
const MAX_AGE_MS = 24 * 3_600_000;
/**
 * What the contents of mounts may take on the disk of a worker; those that commands use now may be more, as far as the disk has
 * room.
 */
const MAX_BYTES = 10 * GIB;
/** Folders of links that wait for the next command of their sessions. */
const MAX_VIEWS = 500;
/** Contents that are brought to the disk at once, each with an open file and a connection of the storage: `perProject` of a session. */
const LOADS = { total: 16, perProject: 8 };

export interface PlacedMount {
  source: string;
  target: string;
}

interface Copy {
  place: string;
  loaded: Promise<void>;
  isLoaded: boolean;
  bytes: number;
  /** How many sandboxes and views have it. */
  users: number;
  /** When a sandbox or a view took it last, by `performance.now()`. */
  takenAt: number;
}

/**
 * A folder with a link to each of some copies, which is mounted as a whole: bwrap takes some thousand mounts, and each takes its
 * time. It stays for the next command: so an attachment that was there before costs nothing.
 */
interface View {
  key: string;
  place: string;
  copies: Copy[];
  made: Promise<void>;
  isMade: boolean;
  isDropped: boolean;
  /** How many sandboxes have it. */
  users: number;
  /** When a sandbox took it last, by `performance.now()`. */
  takenAt: number;
}

/** The contents of mounts on the disk of a worker: one copy for all sessions, and none is ever changed. */
export class MountStore {
  /** The least recently used first. */
  readonly #copies = new Map<string, Copy>();
  /** By what they show; the least recently used first. */
  readonly #views = new Map<string, View>();
  readonly #loads = new FairQueue(LOADS);
  #bytes = 0;
  /** Of the contents that are being loaded. */
  #awaited = 0;

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
   * @throws SandboxFailedError if the disk has no room, ObjectMissingError, ServiceError `storage_error`, the signal's reason
   */
  async hold(
    sessionId: string,
    mounts: Mount[],
    signal: AbortSignal,
  ): Promise<{ placed: PlacedMount[]; release: () => void }> {
    const folders = mounts.filter(({ kind }) => kind === 'folder');
    const copies: Copy[] = [];
    const views: View[] = [];
    const release = (): void => {
      for (const held of [...copies, ...views]) held.users -= 1;
      // What is still being loaded for it is not needed any more.
      for (const view of views) if (view.users === 0 && !view.isMade) void this.#dropView(view);
      void this.#evict();
    };
    try {
      for (const mount of folders) copies.push(this.#take(mount, sessionId));
      const placed: PlacedMount[] = [];
      for (const [target, files] of filesByFolder(mounts)) {
        const view = this.#takeView(files, sessionId);
        views.push(view);
        placed.push({ source: view.place, target });
      }
      const loaded = Promise.all([...copies.map((copy) => copy.loaded), ...views.map(({ made }) => made)]);
      await unlessAborted(loaded, signal);
      folders.forEach(({ target }, at) => placed.push({ source: copies[at]!.place, target }));
      return { placed, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  #takeView(files: Mount[], sessionId: string): View {
    const key = keyOf(files);
    const known = this.#views.get(key);
    this.#views.delete(key);
    // Someone may have cleaned the folder up.
    const view = known !== undefined && existsSync(known.place) ? known : this.#newView(key, files, sessionId);
    view.users += 1;
    view.takenAt = performance.now();
    this.#views.set(key, view);
    return view;
  }

  #newView(key: string, files: Mount[], sessionId: string): View {
    const place = join(this.folder, `view-${uniqueName()}`);
    // Until its contents are there it is no folder that can be found.
    const building = `${place}.new`;
    const copies = files.map((mount) => this.#take(mount, sessionId));
    const build = async (): Promise<void> => {
      await Promise.all(copies.map((copy) => copy.loaded));
      await mkdir(building);
      for (const [at, { target }] of files.entries()) await link(copies[at]!.place, join(building, basename(target)));
      await chmod(building, 0o755);
      await rename(building, place);
      view.isMade = true;
    };
    const view: View = { key, place, copies, made: build(), isMade: false, isDropped: false, users: 0, takenAt: 0 };
    view.made.catch(() => void this.#dropView(view));
    return view;
  }

  async #dropView(view: View): Promise<void> {
    if (view.isDropped) return;
    view.isDropped = true;
    if (this.#views.get(view.key) === view) this.#views.delete(view.key);
    for (const copy of view.copies) copy.users -= 1;
    try {
      await view.made.catch(ignored('those who wait for the view have the error'));
      for (const place of [`${view.place}.new`, view.place]) await rm(place, { recursive: true, force: true });
    } catch (err) {
      this.log.warn({ err }, 'a folder of mounts could not be removed from the disk');
    }
  }

  #take(mount: Mount, sessionId: string): Copy {
    const known = this.#copies.get(mount.id);
    if (known !== undefined) this.#forget(mount.id, known);
    // Someone may have cleaned the folder up.
    const isThere = known !== undefined && (!known.isLoaded || existsSync(known.place));
    const copy = isThere ? known : this.#load(mount, sessionId);
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

  #load(mount: Mount, sessionId: string): Copy {
    const place = join(this.folder, uniqueName());
    this.#awaited += mount.bytes;
    const loading = this.#loads.within(sessionId, async () => {
      if (copy.users === 0) throw new SandboxFailedError('no sandbox needs the content any more');
      await this.#makeRoom();
      return write(mount, place);
    });
    const loaded = loading
      .finally(() => (this.#awaited -= mount.bytes))
      .then(
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
    const isOld = ({ users, takenAt }: Copy | View): boolean => users === 0 && performance.now() - takenAt >= maxAgeMs;
    for (const view of this.#views.values()) if (isOld(view)) await this.#dropView(view);
    for (const [id, copy] of this.#copies) {
      if (!isOld(copy) || !copy.isLoaded) continue;
      this.#forget(id, copy);
      await rm(copy.place, { recursive: true, force: true });
    }
  }

  /** Asks the disk for all that is being loaded before more of it is written. @throws SandboxFailedError */
  async #makeRoom(): Promise<void> {
    if (this.#bytes + this.#awaited > this.maxBytes || !(await hasRoomFor(this.folder, this.#awaited))) {
      await this.#evict(this.#awaited);
    }
    if (await hasRoomFor(this.folder, this.#awaited)) return;
    throw new SandboxFailedError('the disk of the worker has no room for the attachments and skills of a sandbox');
  }

  /** Removes what no sandbox has, as long as there is too much. @param more bytes that will come */
  async #evict(more = 0): Promise<void> {
    const isEnough = async (): Promise<boolean> =>
      this.#bytes + more <= this.maxBytes &&
      (more === 0 ? !(await isDiskFull(this.folder)) : hasRoomFor(this.folder, more));
    try {
      while (this.#views.size > MAX_VIEWS && (await this.#evictView()));
      while (!(await isEnough())) if (!(await this.#evictCopy()) && !(await this.#evictView())) return;
    } catch (err) {
      this.log.warn({ err }, 'a mount could not be removed from the disk');
    }
  }

  async #evictCopy(): Promise<boolean> {
    for (const [id, copy] of this.#copies) {
      if (copy.users > 0 || !copy.isLoaded) continue;
      this.#forget(id, copy);
      await rm(copy.place, { recursive: true, force: true });
      return true;
    }
    return false;
  }

  /** The contents of a view are removed afterwards. */
  async #evictView(): Promise<boolean> {
    for (const view of this.#views.values()) {
      if (view.users > 0) continue;
      await this.#dropView(view);
      return true;
    }
    return false;
  }
}

function filesByFolder(mounts: Mount[]): Map<string, Mount[]> {
  const folders = new Map<string, Mount[]>();
  for (const mount of mounts) {
    if (mount.kind === 'folder') continue;
    const target = dirname(mount.target);
    const files = folders.get(target) ?? [];
    files.push(mount);
    folders.set(target, files);
  }
  return folders;
}

function keyOf(files: Mount[]): string {
  const hash = createHash('sha256');
  for (const { id, target } of files) hash.update(`${id}\0${target}\0`);
  return hash.digest('hex');
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
