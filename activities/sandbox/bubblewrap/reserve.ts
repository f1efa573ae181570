import { readFile } from 'node:fs/promises';
import { MIB } from '../../../src/platform/units.js';
import { isDiskLow } from '../disk-space.js';
import type { Stopped } from '../../../src/workspaces/sandbox.js';

const INTERVAL_MS = 100;
/** Each fifth look is at the kernel and at the disk, too. */
const OTHERS_EVERY = 5;
/** The machine keeps this share of its memory for others than commands, but not more bytes than this. */
const MEMORY_SHARE = 0.05;
const MAX_MEMORY = 512 * MIB;
/** A command that holds less is not what has used up the machine. */
const MIN_HELD = 16 * MIB;

/** A command that runs, and what it holds of the machine. */
export interface Holder {
  folder: string;
  memory(): Promise<number>;
  maxMemory: number;
  /** Memory of the kernel that is part of no process. */
  kernel(): Promise<number>;
  /** What its tree takes more than when the command began. */
  disk(): Promise<number>;
  stop(why: Stopped): void;
}

const holders = new Set<Holder>();
let timer: NodeJS.Timeout | null = null;
/** Memory that the kernel itself held when the first of these commands began. */
let kernelBefore: Promise<number | null>;

/**
 * Keeps a reserve of the machine's memory and of the disk of trees, whatever the limits of all commands together are: below it
 * the command that holds most is stopped. Returns what ends the watch.
 */
export function keepReserve(holder: Holder): () => void {
  holders.add(holder);
  if (timer === null) {
    kernelBefore = readMachine().then(
      ({ kernel }) => kernel,
      () => null,
    );
    schedule(1);
  }
  return () => void holders.delete(holder);
}

function schedule(looks: number): void {
  timer = setTimeout(() => {
    void look(looks % OTHERS_EVERY === 0)
      .catch(() => undefined)
      .finally(() => {
        timer = null;
        if (holders.size > 0) schedule(looks + 1);
      });
  }, INTERVAL_MS);
}

async function look(isFifth: boolean): Promise<void> {
  const machine = await readMachine();
  if (isLow(machine)) {
    await stopLargest([...holders], 'memory', async (holder) => (await holder.memory()) + (await holder.kernel()));
  }
  if (!isFifth) return;
  const before = await kernelBefore;
  const suspects = [...holders].filter(({ maxMemory }) => before !== null && machine.kernel - before > maxMemory);
  await stopLargest(suspects, 'memory', (holder) => holder.kernel());
  for (const folder of new Set([...holders].map((holder) => holder.folder))) {
    if (!(await isDiskLow(folder))) continue;
    const there = [...holders].filter((holder) => holder.folder === folder);
    await stopLargest(there, 'disk', (holder) => holder.disk());
  }
}

interface Machine {
  total: number;
  available: number;
  /** Of the kernel itself, without what it gives back when it is needed. */
  kernel: number;
}

async function readMachine(): Promise<Machine> {
  const text = await readFile('/proc/meminfo', 'latin1');
  const bytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
  return { total: bytes('MemTotal'), available: bytes('MemAvailable'), kernel: bytes('SUnreclaim') };
}

export function isLow({ total, available }: Omit<Machine, 'kernel'>): boolean {
  return available < Math.min(total * MEMORY_SHARE, MAX_MEMORY);
}

/** Stops the one of these that holds most, unless it holds next to nothing. */
export async function stopLargest(
  among: Holder[],
  why: Stopped,
  heldBy: (holder: Holder) => Promise<number>,
): Promise<void> {
  let largest: { holder: Holder; held: number } | null = null;
  for (const holder of among) {
    const held = await heldBy(holder).catch(() => 0);
    if (held >= MIN_HELD && held > (largest?.held ?? 0)) largest = { holder, held };
  }
  if (largest === null) return;
  holders.delete(largest.holder);
  largest.holder.stop(why);
}
