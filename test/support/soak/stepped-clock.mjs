// Preloaded into a process (`--import`): its wall clock is wrong by the milliseconds that the file CLOCK_FILE names. Monotonic clocks
// and timers go on as they are, as on a machine whose time is set.
import { readFileSync } from 'node:fs';

const POLL_MS = 200;
const RealDate = Date;
const realNow = Date.now;
let errorMs = 0;

function read() {
  try {
    errorMs = Number(readFileSync(process.env.CLOCK_FILE ?? '', 'utf8'));
  } catch {
    errorMs = 0;
  }
}
read();
setInterval(read, POLL_MS).unref();

RealDate.now = () => realNow() + errorMs;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [RealDate.now()] : args, newTarget),
});
