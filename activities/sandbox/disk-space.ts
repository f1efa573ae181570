import { statfs } from 'node:fs/promises';
import { GIB } from '../../src/platform/units.js';

/** Caches leave this share of a disk free, but not more bytes than this. */
const FREE_SHARE = 0.05;
const MAX_FREE = 4 * GIB;
/** The part of that which commands leave free. */
const RESERVE = 0.5;

/** Whether caches have to give way on the disk that has a folder. */
export async function isDiskFull(folder: string): Promise<boolean> {
  return !(await hasRoomFor(folder, 0));
}

/** Whether the disk that has a folder is so full that commands have to end: caches have given way before. */
export async function isDiskLow(folder: string): Promise<boolean> {
  const { free, keptFree } = await spaceOf(folder);
  return free < keptFree * RESERVE;
}

/** Whether so many bytes more leave the disk the share that stays free. */
export async function hasRoomFor(folder: string, bytes: number): Promise<boolean> {
  const { free, keptFree } = await spaceOf(folder);
  return free - bytes >= keptFree;
}

async function spaceOf(folder: string): Promise<{ free: number; keptFree: number }> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { free: bavail * bsize, keptFree: Math.min(blocks * bsize * FREE_SHARE, MAX_FREE) };
}
