import { ServiceError } from '../platform/errors.js';

/** 422: the package cannot be used; `reason` is a sentence that tells its maker what to change. */
export function invalidBundle(reason: string): ServiceError {
  return new ServiceError('invalid_skill_bundle', reason);
}

/** 413: the package is over a limit after unpacking; `maxBytes` is given where the limit counts bytes. */
export function bundleTooLarge(reason: string, maxBytes?: number): ServiceError {
  return new ServiceError(
    'skill_bundle_too_large',
    reason,
    maxBytes === undefined ? undefined : { max_bytes: maxBytes },
  );
}

const QUOTED_LENGTH = 200;

/** A name out of an archive, safe to show: quoted, invisible characters escaped, cut when long. */
export function quoted(name: string): string {
  const shown = name.length > QUOTED_LENGTH ? `${name.slice(0, QUOTED_LENGTH).toWellFormed()}…` : name;
  return JSON.stringify(shown).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

/** The data of an entry is longer or shorter than its header says. */
export function sizeMismatch(path: string): Error {
  return invalidBundle(`The entry ${quoted(path)} is not of the size that the archive declares for it.`);
}
