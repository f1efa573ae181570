import { expect } from 'chai';

/** The error of work that must fail. */
export function failureOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => expect.fail('it went through'),
    (error: Error) => error,
  );
}
