import buildDisposition from 'content-disposition';
import { lookup } from 'mime-types';
import { ServiceError } from '../platform/errors.js';
import { codePointLength } from '../platform/text.js';

const MAX_LENGTH = 255;

/**
 * Normalises a file name (decisions.md "Resources", "Filenames"): the part after the last `/` or `\`, in NFC,
 * 1-255 code points, no control characters.
 * @throws ServiceError `invalid_filename`
 */
export function checkedFilename(submitted: string): string {
  const name = submitted.slice(Math.max(submitted.lastIndexOf('/'), submitted.lastIndexOf('\\')) + 1).normalize('NFC');
  if (name === '') throw invalidFilename('is empty');
  if (codePointLength(name) > MAX_LENGTH) throw invalidFilename(`is longer than ${MAX_LENGTH} characters`);
  if (/\p{Cc}/u.test(name) || !name.isWellFormed()) throw invalidFilename('has control characters');
  return name;
}

function invalidFilename(reason: string): ServiceError {
  return new ServiceError('invalid_filename', `The file name ${reason}.`);
}

export function mimeTypeOf(filename: string): string {
  // `lookup` takes a name without a dot for an extension: a file named "html" would become text/html.
  return (filename.includes('.') && lookup(filename)) || 'application/octet-stream';
}

/**
 * `attachment` with the name in two forms (decisions.md "Resources", "Location"): RFC 5987 for all clients, and ASCII for old
 * ones.
 */
export function contentDisposition(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|%/gu, '_');
  const header = buildDisposition(filename, { fallback: ascii });
  return header.includes('filename*=') ? header : `${header}; filename*=UTF-8''${extended(filename)}`;
}

/** RFC 5987 ext-value: encodeURIComponent leaves `'()*!` unescaped, but `'()*` are not attr-char. */
function extended(filename: string): string {
  return encodeURIComponent(filename).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
