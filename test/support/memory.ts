import { readFileSync } from 'node:fs';

/** Resident memory of a process now (`VmRSS`) or at most so far (`VmHWM`), in MiB; Linux only. */
export function memoryOf(pid: number, figure: 'VmRSS' | 'VmHWM'): number {
  const [, kib] = new RegExp(`${figure}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Math.round(Number(kib) / 1024);
}
