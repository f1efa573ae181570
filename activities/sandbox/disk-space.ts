import { statfs } from 'node:fs/promises';
import { GIB } from '../../src/platform/units.js';

/** Caches leave this share of a disk free, but not more bytes than this. */
const FREE_SHARE = 0.05;
const MAX_FREE = 4 * GIB;

/** Whether caches have to give way on the disk that has a folder. */
export async function isDiskFull(folder: string): Promise<boolean> {
  return !(await hasRoomFor(folder, 0));
}

/** Whether so many bytes more leave the disk the share that stays free. */
export async function hasRoomFor(folder: string, bytes: number): Promise<boolean> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return bavail * bsize - bytes >= Math.min(blocks * bsize * FREE_SHARE, MAX_FREE);
}
