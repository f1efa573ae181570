import { ServiceError } from '../platform/errors.js';

/** 422: the package cannot be used. `reason` is a sentence that says what its author must change. */
export function invalidBundle(reason: string): ServiceError {
  return new ServiceError('invalid_skill_bundle', reason);
}

/** 413: the package is over a limit after unpacking. `maxBytes` is present if the limit is in bytes. */
export function bundleTooLarge(reason: string, maxBytes?: number): ServiceError {
  return new ServiceError(
    'skill_bundle_too_large',
    reason,
    maxBytes === undefined ? undefined : { max_bytes: maxBytes },
  );
}

const QUOTED_LENGTH = 200;

/** Formats a name from an archive for an error message: quoted, invisible characters escaped, long names cut. */
export function quoted(name: string): string {
  const shown = name.length > QUOTED_LENGTH ? `${name.slice(0, QUOTED_LENGTH).toWellFormed()}…` : name;
  return JSON.stringify(shown).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

export function sizeMismatch(path: string): Error {
  return invalidBundle(`The entry ${quoted(path)} is not of the size that the archive declares for it.`);
}
