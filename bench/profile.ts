import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string } }[];
  samples: number[];
  /** Microseconds before each sample. */
  timeDeltas: number[];
}

const MAX_SHOWN = 12;
const MIN_SHOWN_MS = 1;

/** Prints where the CPU of each thread of a process went, from the profiles that Node wrote (`--cpu-prof-dir`). */
export function printProfiles(folder: string): void {
  for (const file of readdirSync(folder).sort()) {
    const spent = spentIn(JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile);
    const busy = [...spent].filter(([name]) => name !== '(idle)').toSorted(([, a], [, b]) => b - a);
    const all = busy.reduce((sum, [, ms]) => sum + ms, 0);
    if (all < MIN_SHOWN_MS) continue;
    const shown = busy.slice(0, MAX_SHOWN).map(([name, ms]) => `${name} ${((100 * ms) / all).toFixed(1)} %`);
    console.log(`${file}: ${all.toFixed(0)} ms of CPU: ${shown.join(', ')}`);
  }
}

/** Milliseconds of each package, of each folder of the service, and of Node's own parts. */
function spentIn({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const owners = new Map(nodes.map(({ id, callFrame }) => [id, ownerOf(callFrame)]));
  const spent = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const owner = owners.get(id)!;
    spent.set(owner, (spent.get(owner) ?? 0) + timeDeltas[index]! / 1000);
  }
  return spent;
}

function ownerOf({ functionName, url }: Profile['nodes'][number]['callFrame']): string {
  // (idle), (garbage collector), and functions of Node without a file, such as writev.
  if (url === '') return functionName;
  const packages = [...url.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g)];
  if (packages.length > 0) return packages.at(-1)![1]!;
  return /\/dist\/((?:[^/]+\/){1,2})/.exec(url)?.[1] ?? (url.startsWith('node:') ? 'node' : url.split('/').at(-1)!);
}
