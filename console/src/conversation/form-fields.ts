/** A field of a form, read from the flat schema that a server sent. */
export interface FormField {
  name: string;
  label: string;
  description: string | null;
  required: boolean;
  kind: 'text' | 'number' | 'flag' | 'choice' | 'choices';
  /** The type of an `<input>` for text. */
  inputType: 'text' | 'email' | 'url' | 'date';
  isInteger: boolean;
  choices: { value: string; label: string }[];
  initial: FieldValue;
}

export type FieldValue = string | boolean | string[];
type Json = Record<string, unknown>;

const INPUT_TYPES: Record<string, FormField['inputType']> = { email: 'email', uri: 'url', date: 'date' };

/** The fields of a form in the schema's order. */
export function formFields(schema: Json): FormField[] {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Json>; required?: string[] };
  return Object.entries(properties).map(([name, property]): FormField => {
    const choices = choicesOf(property);
    const kind = kindOf(property, choices.length > 0);
    return {
      name,
      label: text(property.title) ?? name,
      description: text(property.description),
      required: required.includes(name),
      kind,
      inputType: INPUT_TYPES[text(property.format) ?? ''] ?? 'text',
      isInteger: property.type === 'integer',
      choices,
      initial: initialOf(kind, property.default),
    };
  });
}

/** The content of the answer. Empty fields that are not required are left out. */
export function contentOf(fields: FormField[], values: Record<string, FieldValue>): Json {
  const content: Json = {};
  for (const { name, kind, required, initial } of fields) {
    const value = values[name] ?? initial;
    const isEmpty = value === '' || (Array.isArray(value) && value.length === 0);
    if (isEmpty && (kind === 'number' || kind === 'choice' || !required)) continue;
    content[name] = kind === 'number' ? Number(value) : value;
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

function initialOf(kind: FormField['kind'], value: unknown): FieldValue {
  if (kind === 'flag') return value === true;
  if (kind === 'choices') return Array.isArray(value) ? (value as string[]) : [];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
