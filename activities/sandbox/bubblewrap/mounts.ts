import { createWriteStream } from 'node:fs';
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { ulid } from 'ulid';
import type { Mount } from '../../../src/workspaces/sandbox.js';

/** The contents of mounts on the disk of a worker: one copy for all sessions, and none is ever changed. */
export class MountStore {
  readonly #loading = new Map<string, Promise<string>>();

  constructor(private readonly folder: string) {}

  /** Returns where the mount's content is. @throws ObjectMissingError, ServiceError `storage_error` */
  async place(mount: Mount): Promise<{ source: string; target: string }> {
    let loading = this.#loading.get(mount.id);
    if (loading === undefined) {
      loading = this.#load(mount);
      this.#loading.set(mount.id, loading);
      loading.catch(() => this.#loading.delete(mount.id));
    }
    return { source: await loading, target: mount.target };
  }

  async #load(mount: Mount): Promise<string> {
    const { id, kind } = mount;
    const place = join(this.folder, id);
    const temp = join(this.folder, `new-${ulid().toLowerCase()}`);
    try {
      if (kind === 'folder') await mkdir(temp, { mode: 0o755 });
      for await (const { path, content } of mount.contents()) {
        const file = kind === 'file' ? temp : join(temp, path);
        if (kind === 'folder') await makeOpen(temp, dirname(path));
        await pipeline(
          Buffer.isBuffer(content) ? Readable.from([content]) : content,
          createWriteStream(file, { flags: 'wx' }),
        );
        // All files of a skill can be run.
        await chmod(file, kind === 'folder' ? 0o755 : 0o644);
      }
      if (kind === 'folder') await chmod(temp, 0o755);
      await rm(place, { recursive: true, force: true });
      await rename(temp, place);
      return place;
    } catch (error) {
      await rm(temp, { recursive: true, force: true });
      throw error;
    }
  }
}

/** Makes the folders of a path, which every user can enter, whatever the umask. */
async function makeOpen(root: string, path: string): Promise<void> {
  if (path === '.') return;
  await makeOpen(root, dirname(path));
  await mkdir(join(root, path), { recursive: true });
  await chmod(join(root, path), 0o755);
}
