import { readdirSync, readFileSync } from 'node:fs';

/** The processes of the machine whose command line has a text. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}
