/**
 * Ends server processes when the process that started them is gone, even after SIGKILL: standard input is a pipe from
 * that process, and the kernel closes it. Reads one JSON object per line: {watch: PID, signal} {forget: PID}
 * {remove: PATH}.
 */
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { processIdentity } from './lock.mjs';

const TIMEOUT_MS = 5_000;
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
  const lives = () => identity !== null && processIdentity(pid) === identity;
  if (!lives()) continue;
  process.kill(pid, signal);
  const deadline = Date.now() + TIMEOUT_MS;
  while (lives() && Date.now() < deadline) await sleep(20);
  if (lives()) process.kill(pid, 'SIGKILL');
}
for (const path of leftovers) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
