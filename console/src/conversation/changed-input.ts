import { exactText } from '../../../src/platform/exact-json.js';
import { inputFields, inputOf, type InputField } from '../mcp-servers/input-fields.js';
import type { FieldValue } from '../parts/form-fields.js';

type Json = Record<string, unknown>;

/** The fields of an input that a person may change, each with what the agent wrote. */
export interface EditableInput {
  fields: InputField[];
  values: Record<string, FieldValue>;
}

/** The fields of a tool's schema; null if it has none, so that the input is changed as JSON. */
export function editableInput(schema: Json | null, input: Json): EditableInput | null {
  const fields = schema === null ? [] : inputFields(schema);
  if (fields.length === 0) return null;
  return { fields, values: Object.fromEntries(fields.map((field) => [field.form.name, textOf(field, input)])) };
}

function textOf({ form: { name, kind } }: InputField, input: Json): string {
  const value = input[name];
  if (value === undefined) return '';
  return kind === 'text' && typeof value === 'string' ? value : exactText(value);
}

/** The input with what the person has changed; the rest is as the agent wrote it, digit by digit. @throws Error that names a field */
export function changedInput({ fields, values }: EditableInput, given: Record<string, FieldValue>, input: Json): Json {
  const changed = fields.filter(({ form: { name } }) => given[name] !== undefined && given[name] !== values[name]);
  const names = new Set(changed.map(({ form }) => form.name));
  const kept = Object.fromEntries(Object.entries(input).filter(([name]) => !names.has(name)));
  return { ...kept, ...inputOf(changed, given) };
}

/** What differs between the input that the agent wrote and the one that ran, as texts; null for what is not there. */
export function changesOf(before: Json, after: Json): { name: string; before: string | null; after: string | null }[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const shown = (input: Json, name: string): string | null => (name in input ? exactText(input[name]) : null);
  return names
    .map((name) => ({ name, before: shown(before, name), after: shown(after, name) }))
    .filter((change) => change.before !== change.after);
}
