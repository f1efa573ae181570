/**
 * The deltas of one worker of `bench/scenarios/deltas.ts`: every stream writes a token in each `pace` ms, spread over that time. A
 * token is the time of its writing.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openDataSource } from '../src/db/data-source.js';
import { DeltaStore } from '../src/stream/deltas.js';
import { Notifier } from '../src/stream/notify.js';
import { createLogger } from '../src/platform/logger.js';

const [databaseUrl, ids, seconds, pace] = process.argv.slice(2) as [string, string, string, string];
const log = createLogger('warn', 'bench');
const db = await openDataSource(databaseUrl, 10, 'worker');
const notifier = new Notifier(db, log);
const store = new DeltaStore(db, notifier, log);
const calls = ids.split(',').map((turnId) =>
  store.open(
    { turnId, sessionId: turnId, position: 1, call: 1, isFirstSinceEvent: true, messageId: `msg_${turnId}` },
    () => {
      throw new Error(`${turnId} no longer accepts deltas`);
    },
  ),
);

const began = performance.now();
const end = began + Number(seconds) * 1000;
let written = 0;
while (performance.now() < end) {
  const due = ((performance.now() - began) / Number(pace)) * calls.length;
  const token = String(Date.now());
  for (; written < due; written += 1) store.write(calls[written % calls.length]!, 'agent.message.delta', token);
  await pause(1);
}
await store.flush();
await notifier.flush();
await db.destroy();
