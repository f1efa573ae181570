/**
 * Loaded into a process (`--import`): SIGUSR2 blocks its main thread for BLOCK_MS, as a long computation would. Its other
 * threads go on. With BLOCK_WITH=json it reads and writes JSON meanwhile, which also takes the CPU from the other threads.
 */
import { isMainThread } from 'node:worker_threads';

const blockMs = Number(process.env.BLOCK_MS);
const json = JSON.stringify(Array.from({ length: 100_000 }, (_, n) => ({ n, text: `value ${n}` })));
if (isMainThread) {
  process.on('SIGUSR2', () => {
    if (process.env.BLOCK_WITH === 'json') {
      const until = performance.now() + blockMs;
      while (performance.now() < until) JSON.stringify(JSON.parse(json));
    } else {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
    }
    process.stderr.write('the main thread goes on\n');
  });
}
