/**
 * Loaded into a process (`--import`): SIGUSR2 blocks its main thread for BLOCK_MS, as a long computation would. Its other
 * threads go on.
 */
import { isMainThread } from 'node:worker_threads';

const blockMs = Number(process.env.BLOCK_MS);
if (isMainThread) {
  process.on('SIGUSR2', () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
    process.stderr.write('the main thread goes on\n');
  });
}
