import { toLocalTime } from './format.js';

/** A field of a form, read from the flat schema that a server sent. */
export interface FormField {
  name: string;
  label: string;
  description: string | null;
  required: boolean;
  /** `json`: a value of any kind, as JSON. */
  kind: 'text' | 'number' | 'flag' | 'choice' | 'choices' | 'json';
  inputType: 'text' | 'email' | 'url' | 'date' | 'datetime-local';
  isInteger: boolean;
  /** Attributes of the `<input>`, so that the browser refuses what the server's schema does not allow. */
  limits: { min?: number; max?: number; minLength?: number; maxLength?: number };
  choices: { value: string; label: string }[];
  initial: FieldValue;
}

export type FieldValue = string | boolean | string[];
type Json = Record<string, unknown>;

const INPUT_TYPES: Record<string, FormField['inputType']> = {
  email: 'email',
  uri: 'url',
  date: 'date',
  'date-time': 'datetime-local',
};

/** The fields of a form in the schema's order. */
export function formFields(schema: Json): FormField[] {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Json>; required?: string[] };
  return Object.entries(properties).map(([name, property]): FormField => {
    const choices = choicesOf(property);
    const kind = kindOf(property, choices.length > 0);
    const inputType = INPUT_TYPES[text(property.format) ?? ''] ?? 'text';
    return {
      name,
      label: text(property.title) ?? name,
      description: text(property.description),
      required: required.includes(name),
      kind,
      inputType,
      isInteger: property.type === 'integer',
      limits: limitsOf(kind, property),
      choices,
      initial: initialOf(kind, inputType, property.default),
    };
  });
}

export function isEmpty(value: FieldValue): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0);
}

/** The content of the answer. Empty fields that are not required are left out. */
export function contentOf(fields: FormField[], values: Record<string, FieldValue>): Json {
  const content: Json = {};
  for (const { name, kind, inputType, required, initial } of fields) {
    const value = values[name] ?? initial;
    if (isEmpty(value) && (kind === 'number' || kind === 'choice' || !required)) continue;
    if (kind === 'number') content[name] = Number(value);
    else if (kind === 'text' && inputType === 'datetime-local') content[name] = withZone(String(value));
    else content[name] = value;
  }
  return content;
}

function kindOf({ type }: Json, hasChoices: boolean): FormField['kind'] {
  if (type === 'boolean') return 'flag';
  if (type === 'array') return 'choices';
  if (type === 'number' || type === 'integer') return 'number';
  return hasChoices ? 'choice' : 'text';
}

function choicesOf(property: Json): FormField['choices'] {
  const { enum: values, enumNames, oneOf, anyOf } = (property.items ?? property) as Json;
  const titled = (oneOf ?? anyOf) as { const: string; title: string }[] | undefined;
  if (titled !== undefined) return titled.map(({ const: value, title }) => ({ value, label: title }));
  const names = (enumNames ?? []) as string[];
  return ((values ?? []) as string[]).map((value, n) => ({ value, label: names[n] ?? value }));
}

function limitsOf(kind: FormField['kind'], property: Json): FormField['limits'] {
  const limit = (name: string, value: unknown, round = (given: number): number => given) =>
    typeof value === 'number' ? { [name]: round(value) } : {};
  if (kind === 'text') return { ...limit('minLength', property.minLength), ...limit('maxLength', property.maxLength) };
  if (kind !== 'number') return {};
  // The browser counts the steps of an integer from its minimum.
  const isInteger = property.type === 'integer';
  return { ...limit('min', property.minimum, isInteger ? Math.ceil : undefined), ...limit('max', property.maximum) };
}

function initialOf(kind: FormField['kind'], inputType: FormField['inputType'], value: unknown): FieldValue {
  if (kind === 'flag') return value === true;
  if (kind === 'choices') return Array.isArray(value) ? (value as string[]) : [];
  if (kind === 'text' && inputType === 'datetime-local') return withoutZone(value);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** A local date and time as the schema's format requires it. */
function withZone(local: string): string {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? local : date.toISOString();
}

function withoutZone(value: unknown): string {
  const date = new Date(typeof value === 'string' ? value : NaN);
  return Number.isNaN(date.getTime()) ? '' : toLocalTime(date);
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
