/**
 * Ends server processes when the process that started them is gone, even after SIGKILL: standard input is a pipe from
 * that process, and the kernel closes it. Reads one JSON object per line: {end: record of a server} {remove: PATH}.
 */
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { endProcess } from './processes.mjs';

const servers = [];
const leftovers = [];

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

for await (const line of createInterface({ input: process.stdin })) {
  const { end, remove } = JSON.parse(line);
  if (end !== undefined) servers.push(end);
  if (remove !== undefined) leftovers.push(remove);
}

for (const server of servers.reverse()) await endProcess(server);
for (const path of leftovers) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
