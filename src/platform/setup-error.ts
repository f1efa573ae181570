/** An operator must change something before this process can start. Its message says what; a stack would not help. */
export class SetupError extends Error {}

/** What a process prints when it cannot start. */
export function startFailure(error: unknown): string {
  return error instanceof SetupError ? error.message : String((error as Error).stack);
}
