import { parse } from 'content-disposition';

export interface PartName {
  /** Name of the form field; null where the header gives none. */
  name: string | null;
  /** As submitted, with its path; null for a field that is no file. */
  filename: string | null;
}

/**
 * Reads a part's Content-Disposition, given as bytes in latin1. Names are UTF-8 as every client sends them (latin1 where
 * they are not); `filename*` of RFC 5987 wins over `filename`. Null when the header cannot be read.
 */
export function parsePartDisposition(bytes: string): PartName | null {
  const header = keepPathSeparators(bytes);
  const parameters =
    parametersOf(header) ??
    // A control character has no place in a header. As U+0080 it passes, and the rule for file names sees it.
    parametersOf(header.replace(/[\x00-\x1f\x7f]/g, '\x80')) ?? // eslint-disable-line no-control-regex
    // A `filename*` that cannot be decoded counts as absent (RFC 6266, 4.3).
    parametersOf(extensionsRenamed(header));
  if (parameters === null) return null;
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
 * In a quoted string `\"` and `\\` are escapes; any other backslash is a path separator that a client left as it was
 * (`C:\reports\a.txt`): doubled, the parser keeps it.
 */
function keepPathSeparators(header: string): string {
  return header.replace(/\\(["\\])|\\/g, (found, escaped) => (escaped === undefined ? '\\\\' : found));
}

/** Makes `filename*=` an ordinary parameter `filename_x`. */
function extensionsRenamed(header: string): string {
  return header.replace(/\*(?=[\t ]*=)/g, '_x');
}

function utf8(latin1: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(latin1, 'latin1'));
  } catch {
    return latin1;
  }
}

/** Browsers, fetch and curl write a quote and line ends in a name as these three (WHATWG HTML, "multipart form data"). */
function unescapeForm(filename: string): string {
  return filename.replace(/%(22|0D|0A)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
