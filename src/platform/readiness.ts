import { setTimeout as sleep } from 'node:timers/promises';

export type PartState = 'ok' | 'away';
export interface PartStates {
  postgres: PartState;
  temporal: PartState;
  worker: PartState;
  /** Whether commands of workspaces can run: for an API by the setting, for a worker by its last check. */
  sandbox: 'ok' | 'off';
  /** Of a worker whose commands can run: what keeps the limits of each. */
  sandbox_limits?: Record<'memory' | 'processes' | 'cpu' | 'disk', string>;
  /** Why Postgres cannot serve, where an operator must change something. */
  reason?: string;
  /** Of an API that has been asked to end and still takes requests for SHUTDOWN_DELAY_SECONDS. */
  api?: 'drains';
}
export interface Readiness {
  (): Promise<PartStates>;
  /** From now on the process is not ready, whatever its parts say. */
  drain(): void;
}

const CHECK_TIMEOUT_MS = 3000;
const KEEP_MS = 2000;

/**
 * Checks the components at most once every two seconds, shared by all parallel probes: probes need no key, and each
 * check costs a query and a Temporal request. `check` does not reject.
 */
export function createReadiness(check: () => Promise<PartStates>): Readiness {
  let states: Promise<PartStates> | null = null;
  let drains = false;
  const checked = (): Promise<PartStates> => {
    if (states !== null) return states;
    states = check();
    void states.then(async () => {
      await sleep(KEEP_MS, undefined, { ref: false });
      states = null;
    });
    return states;
  };
  const readiness = async (): Promise<PartStates> => ({ ...(await checked()), ...(drains && { api: 'drains' }) });
  return Object.assign(readiness, { drain: () => void (drains = true) });
}

/** `away` if the check returns false, throws or times out. */
export async function stateOf(check: () => Promise<boolean>): Promise<PartState> {
  const timeout = new AbortController();
  const late = sleep(CHECK_TIMEOUT_MS, false, { signal: timeout.signal }).catch(() => false);
  const ok = await Promise.race([check().catch(() => false), late]);
  timeout.abort();
  return ok ? 'ok' : 'away';
}

/**
 * The answer of `/readyz`: Postgres decides. The other components are reported but not required, because turns wait for
 * them. With `deep` all of them are required (decisions.md "Running it"). A process that drains is not ready.
 */
export async function answerReadiness(
  readiness: Readiness,
  deep: boolean,
): Promise<{ status: number; body: PartStates }> {
  const body = await readiness();
  const { postgres, temporal, worker, api } = body;
  const required = deep ? [postgres, temporal, worker] : [postgres];
  return { status: api === 'drains' || required.includes('away') ? 503 : 200, body };
}
