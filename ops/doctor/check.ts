import { unlessLate } from '../../src/platform/limited-wait.js';

export class CheckError extends Error {
  override readonly name = 'CheckError';
  constructor(
    message: string,
    readonly remedy: string,
  ) {
    super(message);
  }
}

/** A check of one part of the service. `run` resolves with a fact to print. */
export interface Check {
  part: string;
  run: () => Promise<string>;
  /** Remedy for an unexpected error. */
  remedy: string;
}

export interface Finding {
  part: string;
  ok: boolean;
  detail: string;
  /** Null if the check passed. */
  remedy: string | null;
}

/** Limits of the first try and of the second one, which a check gets after a time-out: on a busy machine everything is slow. */
export const LIMITS_MS = [15_000, 45_000] as const;

class LateError extends Error {}

/** Runs a check; never throws. */
export async function runCheck(check: Check, limitsMs: readonly [number, number] = LIMITS_MS): Promise<Finding> {
  const [first, second] = limitsMs.map((ms) => `${ms / 1000} s`);
  const finding = await tryCheck(check, limitsMs[0]);
  if (finding !== 'late') return finding;
  const again = await tryCheck(check, limitsMs[1]);
  if (again === 'late') {
    return {
      part: check.part,
      ok: false,
      detail: `no answer within ${first}, and none within ${second} at a second try`,
      remedy: `A time-out is no refusal. Look at the load of this machine and of the server, and at proxies and firewalls between them. If nothing is slow: ${check.remedy}`,
    };
  }
  return { ...again, detail: `${again.detail} (slow: the first try had no answer within ${first})` };
}

async function tryCheck({ part, run, remedy }: Check, limitMs: number): Promise<Finding | 'late'> {
  try {
    const detail = await unlessLate(run(), limitMs, () => {
      throw new LateError();
    });
    return { part, ok: true, detail, remedy: null };
  } catch (error) {
    if (isTimeout(error)) return 'late';
    return { part, ok: false, detail: reasonOf(error), remedy: error instanceof CheckError ? error.remedy : remedy };
  }
}

/** Of the socket, of a statement or a lock in Postgres, of an aborted fetch, and gRPC's DEADLINE_EXCEEDED. */
const TIMEOUTS: ReadonlySet<unknown> = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', '57014', '55P03', 4]);

function isTimeout(error: unknown): boolean {
  if (error instanceof CheckError || !(error instanceof Error)) return false;
  if (error instanceof LateError || error.name === 'TimeoutError') return true;
  if ('code' in error && TIMEOUTS.has(error.code)) return true;
  return isTimeout(error instanceof AggregateError ? error.errors[0] : error.cause);
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? reasonOf(error.cause) : '';
  return `${error.message}${error.message.includes(cause) ? '' : ` (${cause})`}`.replaceAll(/\s+/g, ' ').slice(0, 300);
}
