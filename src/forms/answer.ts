import { pointerToken } from '../platform/errors.js';
import { losesDigits } from '../platform/exact-json.js';
import type { JsonObject } from '../platform/json-object.js';
import { codePointLength } from '../platform/text.js';
import type { Field, Form } from './fields.js';
import { FORMAT_NAMES, hasFormat } from './formats.js';

/** Why an answer does not fit: the place in it as a JSON pointer, and the rule it breaks. */
export interface Misfit {
  path: string;
  message: string;
}

/**
 * Returns the first place where the answer does not fit its form; null if it fits. A form allows no other fields. The time
 * grows with the sizes of answer and form, whatever they say: a form is never compiled.
 */
export function findMisfit({ properties, required = [] }: Form, answer: JsonObject): Misfit | null {
  const missing = required.find((name) => !Object.hasOwn(answer, name));
  if (missing !== undefined) return { path: `/${pointerToken(missing)}`, message: 'is required' };
  for (const [name, value] of Object.entries(answer)) {
    const place = `/${pointerToken(name)}`;
    if (!Object.hasOwn(properties, name)) return { path: place, message: 'is not a field of the form' };
    const misfit = misfitOf(properties[name]!, value);
    if (misfit !== null) return { path: `${place}${misfit.path}`, message: misfit.message };
  }
  return null;
}

/** Returns why the value does not fit the field; null if it fits. */
export function misfitOf(field: Field, value: unknown): Misfit | null {
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean' ? null : here('must be true or false');
    case 'number':
    case 'integer': {
      const isKind = field.type === 'number' ? Number.isFinite(value) : Number.isInteger(value);
      if (!isKind) return here(field.type === 'number' ? 'must be a number' : 'must be an integer');
      if (losesDigits(value as number)) return here('is beyond 2^53: not every digit of it can be kept');
      return outside(value as number, field.minimum, field.maximum, '');
    }
    case 'array': {
      if (!Array.isArray(value)) return here('must be a list');
      const sizes = outside(value.length, field.minItems, field.maxItems, ' entries');
      if (sizes !== null) return sizes;
      const options = optionsOf(field.items)!;
      const at = value.findIndex((item) => !options.has(item));
      return at < 0 ? null : { path: `/${at}`, message: NO_OPTION };
    }
    case 'string': {
      if (typeof value !== 'string') return here('must be a text');
      const options = optionsOf(field);
      if (options !== null) return options.has(value) ? null : here(NO_OPTION);
      if (!('minLength' in field || 'maxLength' in field || 'format' in field)) return null;
      const { minLength, maxLength, format } = field;
      const length = outside(codePointLength(value), minLength, maxLength, ' characters');
      if (length !== null || format === undefined || hasFormat(value, format)) return length;
      return here(`must be ${FORMAT_NAMES[format]}`);
    }
  }
}

const NO_OPTION = 'must be one of the values that the form offers';

function optionsOf(field: object): Set<unknown> | null {
  if ('enum' in field) return new Set(field.enum as string[]);
  const titled = 'oneOf' in field ? field.oneOf : 'anyOf' in field ? field.anyOf : null;
  return titled === null ? null : new Set((titled as { const: string }[]).map((option) => option.const));
}

function outside(value: number, low: number | undefined, high: number | undefined, unit: string): Misfit | null {
  if (low !== undefined && value < low) return here(`must ${unit === '' ? 'be' : 'have'} at least ${low}${unit}`);
  if (high !== undefined && value > high) return here(`must ${unit === '' ? 'be' : 'have'} at most ${high}${unit}`);
  return null;
}

function here(message: string): Misfit {
  return { path: '', message };
}
