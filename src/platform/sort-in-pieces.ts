import { Pauses } from './pauses.js';

/** Sorted by `sort`, which takes well below a millisecond. */
const RUN = 256;

/** Sorts a long list as `toSorted` does, and lets other work run meanwhile. */
export async function sortInPieces<T>(list: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const pauses = new Pauses();
  let runs: T[][] = [];
  for (let at = 0; at < list.length; at += RUN) {
    if (pauses.isDue) await pauses.take();
    runs.push(list.slice(at, at + RUN).sort(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await merge(runs[at]!, runs[at + 1] ?? [], compare, pauses));
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge<T>(a: T[], b: T[], compare: (a: T, b: T) => number, pauses: Pauses): Promise<T[]> {
  const merged: T[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (pauses.isDue) await pauses.take();
    const isFirst = j >= b.length || (i < a.length && compare(a[i]!, b[j]!) <= 0);
    merged.push(isFirst ? a[i]! : b[j]!);
    if (isFirst) i += 1;
    else j += 1;
  }
  return merged;
}
