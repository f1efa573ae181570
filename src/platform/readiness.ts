import { setTimeout as sleep } from 'node:timers/promises';

export type PartState = 'ok' | 'away';
export interface PartStates {
  postgres: PartState;
  temporal: PartState;
  worker: PartState;
}
export type Readiness = () => Promise<PartStates>;

const CHECK_TIMEOUT_MS = 3000;
const KEEP_MS = 2000;

/**
 * Checks the parts at most once every two seconds, however many ask meanwhile: probes need no key, and each check costs
 * a query and a Temporal request. `check` does not reject.
 */
export function createReadiness(check: () => Promise<PartStates>): Readiness {
  let states: Promise<PartStates> | null = null;
  return () => {
    if (states !== null) return states;
    states = check();
    void states.then(async () => {
      await sleep(KEEP_MS, undefined, { ref: false });
      states = null;
    });
    return states;
  };
}

/** `away` when the check says no, throws, or does not come back in time. */
export async function stateOf(check: () => Promise<boolean>): Promise<PartState> {
  const timeout = new AbortController();
  const late = sleep(CHECK_TIMEOUT_MS, false, { signal: timeout.signal }).catch(() => false);
  const ok = await Promise.race([check().catch(() => false), late]);
  timeout.abort();
  return ok ? 'ok' : 'away';
}

/**
 * What `/readyz` answers: Postgres decides. The other parts are reported, not required, because a turn waits for them;
 * with `deep` all are (contract.md §5).
 */
export async function answerReadiness(
  readiness: Readiness,
  deep: boolean,
): Promise<{ status: number; body: PartStates }> {
  const body = await readiness();
  const required = deep ? Object.values(body) : [body.postgres];
  return { status: required.includes('away') ? 503 : 200, body };
}
