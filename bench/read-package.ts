/** Reads a skill package, as an upload does; prints the time, the growth of the resident memory, and the outcome. */
import { MIB } from '../src/platform/units.js';
import { readBundle } from '../src/skills/bundle.js';

const [, , path] = process.argv;
global.gc?.();
const before = process.memoryUsage().rss;
let peak = before;
const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
const began = performance.now();
const outcome = await readBundle(path!, 'bomb.zip').then(
  async (bundle) => {
    let bytes = 0;
    for await (const chunk of bundle.archive()) bytes += (chunk as Buffer).length;
    return `a skill of ${bytes} bytes`;
  },
  (error: Error & { type?: string }) => `${error.type}: ${error.message}`,
);
const ms = performance.now() - began;
clearInterval(timer);
peak = Math.max(peak, process.memoryUsage().rss);
console.log(`${ms.toFixed(0).padStart(6)} ms  +${((peak - before) / MIB).toFixed(0)} MiB  ${outcome}`);
