/** The message of an error with that of its cause: `fetch failed (connect ECONNREFUSED …)`. */
export function withCause(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}
