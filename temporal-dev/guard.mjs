/**
 * Ends server processes when the process that started them is gone, even after SIGKILL: standard input is a pipe from
 * that process, and the kernel closes it. Reads one JSON object per line: {watch: PID, signal} {forget: PID}
 * {remove: PATH}.
 */
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { endProcess } from './end-process.mjs';
import { processIdentity } from './lock.mjs';

const watched = new Map();
const leftovers = [];

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if (order.watch !== undefined)
    watched.set(order.watch, { signal: order.signal, identity: processIdentity(order.watch) });
  if (order.forget !== undefined) watched.delete(order.forget);
  if (order.remove !== undefined) leftovers.push(order.remove);
}

for (const [pid, { signal, identity }] of [...watched].reverse()) {
  await endProcess(pid, signal, () => identity !== null && processIdentity(pid) === identity);
}
for (const path of leftovers) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
