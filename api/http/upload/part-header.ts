import { parse } from 'content-disposition';
import { ServiceError } from '../../../src/platform/errors.js';
import { decodeUtf8 } from '../../../src/platform/text.js';

/** Limits of docs/decisions.md "Limits of work": the parser's time grows with the square of the number of parameters. */
const MAX_DISPOSITION_BYTES = 8 * 1024;
const MAX_PARAMETERS = 16;

/** Encodings that leave the bytes as they are. */
const IDENTITY = new Set(['', 'binary', '7bit', '8bit']);

interface PartName {
  /** Name of the form field; null if the header has none. */
  name: string | null;
  /** As submitted, including its path; null for a field that is not a file. */
  filename: string | null;
}

/**
 * Reads the header block of a part, given as bytes in latin1.
 * @throws ServiceError `bad_request`
 */
export function readPartHeader(block: string): PartName {
  const fields = new Map(block.split('\r\n').filter(Boolean).map(nameAndValue));
  if (!IDENTITY.has((fields.get('content-transfer-encoding') ?? '').toLowerCase())) {
    throw new ServiceError('bad_request', 'Send the bytes of the file as they are, without Content-Transfer-Encoding.');
  }
  return readDisposition(fields.get('content-disposition') ?? '');
}

function nameAndValue(line: string): [string, string] {
  const colon = line.indexOf(':');
  if (colon < 1) throw new ServiceError('bad_request', 'A header of a part is not a name, a colon and a value.');
  return [line.slice(0, colon).trimEnd().toLowerCase(), line.slice(colon + 1).trim()];
}

/**
 * Names are decoded as UTF-8, which every client sends, and otherwise as latin1. `filename*` (RFC 5987) takes
 * precedence over `filename`.
 */
function readDisposition(bytes: string): PartName {
  if (bytes.length > MAX_DISPOSITION_BYTES) {
    throw new ServiceError(
      'bad_request',
      `The Content-Disposition of a part is larger than ${MAX_DISPOSITION_BYTES} bytes. Send a shorter file name.`,
    );
  }
  const header = keepPathSeparators(bytes);
  const parameters =
    parametersOf(header) ??
    // Control characters are not allowed in a header. Replaced by U+0080 they pass the parser, and the check of file
    // names rejects them.
    parametersOf(header.replace(/[\x00-\x1f\x7f]/g, '\x80')) ?? // oxlint-disable-line no-control-regex
    // A `filename*` that cannot be decoded counts as absent (RFC 6266, 4.3).
    parametersOf(extensionsRenamed(header));
  if (parameters === null) throw new ServiceError('bad_request', 'The Content-Disposition of a part cannot be read.');
  if (Object.keys(parameters).length > MAX_PARAMETERS) {
    throw new ServiceError(
      'bad_request',
      `The Content-Disposition of a part has more than ${MAX_PARAMETERS} parameters. Send name and filename only.`,
    );
  }
  const { name, filename } = parameters;
  const isExtended = 'filename_x' in (parametersOf(extensionsRenamed(header)) ?? {}) && !('filename_x' in parameters);
  return {
    name: name === undefined ? null : utf8(name),
    filename: filename === undefined ? null : isExtended ? filename : unescapeForm(utf8(filename)),
  };
}

function parametersOf(header: string): Record<string, string> | null {
  try {
    return parse(header).parameters;
  } catch {
    return null;
  }
}

/**
 * In a quoted string `\"` and `\\` are escapes. Any other backslash is an unescaped path separator
 * (`C:\reports\a.txt`): it is doubled here, so that the parser keeps it.
 */
function keepPathSeparators(header: string): string {
  return header.replace(/\\(["\\])|\\/g, (found, escaped) => (escaped === undefined ? '\\\\' : found));
}

/** Renames `filename*=` to an ordinary parameter `filename_x`. */
function extensionsRenamed(header: string): string {
  return header.replace(/\*(?=[\t ]*=)/g, '_x');
}

function utf8(latin1: string): string {
  return decodeUtf8(Buffer.from(latin1, 'latin1'), { keepMark: true }) ?? latin1;
}

/** Browsers, fetch and curl encode a quote, CR and LF in a name this way (WHATWG HTML, "multipart form data"). */
function unescapeForm(filename: string): string {
  return filename.replace(/%(22|0D|0A)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
