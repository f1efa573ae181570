/** What is wrong with a part, and what an operator does about it. */
export class CheckError extends Error {
  override readonly name = 'CheckError';
  constructor(
    message: string,
    readonly remedy: string,
  ) {
    super(message);
  }
}

/** One part of the service that is looked at; resolves with a fact worth telling. */
export interface Check {
  part: string;
  run: () => Promise<string>;
  /** For a fault that the check did not foresee. */
  remedy: string;
}

export interface Finding {
  part: string;
  ok: boolean;
  detail: string;
  /** Null where nothing is wrong. */
  remedy: string | null;
}

/** A part that does not answer for that long does not answer. */
const TIMEOUT_MS = 15_000;

/** Looks at one part; never throws. */
export async function runCheck({ part, run, remedy }: Check): Promise<Finding> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new CheckError('no answer within 15 s', remedy)), TIMEOUT_MS);
  });
  try {
    return { part, ok: true, detail: await Promise.race([run(), late]), remedy: null };
  } catch (error) {
    return { part, ok: false, detail: reasonOf(error), remedy: error instanceof CheckError ? error.remedy : remedy };
  } finally {
    clearTimeout(timer);
  }
}

/** The message of the error, or of what caused it where it says nothing itself. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${reasonOf(error.cause)})` : '';
  return `${error.message}${cause}`.replaceAll(/\s+/g, ' ').slice(0, 300);
}
