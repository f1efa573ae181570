import type { Context, Hook, Runnable, Test } from 'mocha';

/**
 * Skips a test that needs what this machine lacks, or from a `before` hook its suite, and says why: `npm test` lists it with
 * the reason.
 */
export function skip(context: Context, reason: string): never {
  const note = (test: Runnable): void => {
    test.title += ` [skipped: ${reason}]`;
  };
  const runnable = context.runnable() as Hook | Test;
  if (runnable.type === 'hook') runnable.parent!.eachTest(note);
  else note(runnable);
  // The one place that skips: only for `reason`, which the title now has. Mocha ends the test by throwing here.
  return context.skip();
}
