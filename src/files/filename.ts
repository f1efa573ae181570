import buildDisposition from 'content-disposition';
import { lookup } from 'mime-types';
import { ServiceError } from '../platform/errors.js';
import { codePointLength } from '../platform/text.js';

const MAX_LENGTH = 255;

/**
 * The name that a file is kept under (spec.md "File", contract.md §2 "Filenames"): the last segment of `/` and `\`, in
 * NFC, 1-255 code points, no control characters.
 * @throws ServiceError `invalid_filename`
 */
export function checkedFilename(submitted: string): string {
  const name = submitted.slice(Math.max(submitted.lastIndexOf('/'), submitted.lastIndexOf('\\')) + 1).normalize('NFC');
  if (name === '') throw invalidFilename('is empty');
  if (codePointLength(name) > MAX_LENGTH) throw invalidFilename(`is longer than ${MAX_LENGTH} characters`);
  if (/\p{Cc}/u.test(name) || !name.isWellFormed()) throw invalidFilename('has control characters');
  return name;
}

export function invalidFilename(fault: string): ServiceError {
  return new ServiceError('invalid_filename', `The file name ${fault}.`);
}

/** The type that the extension says, `application/octet-stream` when it says none (spec.md "File"). */
export function mimeTypeOf(filename: string): string {
  // Without a dot, lookup would take the whole name for an extension: a file called "html" has none.
  return (filename.includes('.') && lookup(filename)) || 'application/octet-stream';
}

/**
 * `attachment` with the name twice (contract.md §2 "Location"): in RFC 5987 form, always, and an ASCII one for old
 * clients.
 */
export function contentDisposition(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|%/gu, '_');
  const header = buildDisposition(filename, { fallback: ascii });
  return header.includes('filename*=') ? header : `${header}; filename*=UTF-8''${extended(filename)}`;
}

/** RFC 5987 ext-value: encodeURIComponent leaves `'()*!` as they are, of which `'()*` are no attr-char. */
function extended(filename: string): string {
  return encodeURIComponent(filename).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
