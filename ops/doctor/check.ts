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

const TIMEOUT_MS = 15_000;

/** Runs a check; never throws. */
export async function runCheck({ part, run, remedy }: Check): Promise<Finding> {
  try {
    const detail = await unlessLate(run(), TIMEOUT_MS, () => {
      throw new CheckError('no answer within 15 s', remedy);
    });
    return { part, ok: true, detail, remedy: null };
  } catch (error) {
    return { part, ok: false, detail: reasonOf(error), remedy: error instanceof CheckError ? error.remedy : remedy };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? reasonOf(error.cause) : '';
  return `${error.message}${error.message.includes(cause) ? '' : ` (${cause})`}`.replaceAll(/\s+/g, ' ').slice(0, 300);
}
