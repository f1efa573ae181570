import { fullFormats } from 'ajv-formats/dist/formats.js';

const FORMATS = ['email', 'uri', 'date', 'date-time'] as const;
export type Format = (typeof FORMATS)[number];

/** What an answer has to be, in the words of an error. */
export const FORMAT_NAMES: Record<Format, string> = {
  email: 'an e-mail address',
  uri: 'a URI',
  date: 'a date such as 2026-11-21',
  'date-time': 'a date and time with an offset, such as 2026-11-21T09:58:03Z',
};

export function isFormat(value: unknown): value is Format {
  return (FORMATS as readonly unknown[]).includes(value);
}

/** The expressions of ajv-formats take time that grows with the length of the text alone (test/src/forms/answer.test.ts). */
export function hasFormat(text: string, format: Format): boolean {
  const known = fullFormats[format];
  const check = typeof known === 'object' && 'validate' in known ? known.validate : known;
  return check instanceof RegExp ? check.test(text) : (check as (text: string) => boolean)(text);
}
