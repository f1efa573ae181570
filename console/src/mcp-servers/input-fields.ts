import { formFields, isEmpty, type FieldValue, type FormField } from '../parts/form-fields.js';

type Json = Record<string, unknown>;

/** A field for one parameter of a tool. */
export interface InputField {
  form: FormField;
  /** The parameter's value; undefined leaves it out. @throws SyntaxError for a text that is no JSON */
  read: (value: FieldValue) => unknown;
}

const TEXT_FORMATS = ['email', 'uri', 'date'];

/** A field for each parameter, in the schema's order. What a simple field cannot hold is entered as JSON. */
export function inputFields(schema: Json): InputField[] {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, unknown>; required?: unknown };
  const names = Array.isArray(required) ? (required as unknown[]) : [];
  return Object.entries(properties).map(([name, property]) => fieldOf(name, simplify(property), names.includes(name)));
}

/** The input of the call. @throws Error that names the field whose text is no JSON */
export function inputOf(fields: InputField[], values: Record<string, FieldValue>): Json {
  const input: Json = {};
  for (const { form, read } of fields) {
    const value = values[form.name] ?? form.initial;
    if (isEmpty(value) && !(form.required && form.kind === 'text')) continue;
    try {
      input[form.name] = read(value);
    } catch {
      throw new Error(`${form.label} must be JSON, such as "text", 42 or [1, 2].`);
    }
  }
  return input;
}

function fieldOf(name: string, property: Json, isRequired: boolean): InputField {
  const { type, enum: values, format } = property;
  const make = (shape: Json): FormField => {
    const described = { title: property.title, description: property.description, ...shape };
    return formFields({ properties: { [name]: described }, required: isRequired ? [name] : [] })[0]!;
  };
  if (type === 'boolean') return choice(make, [true, false], property.default);
  if (Array.isArray(values)) return choice(make, values, property.default);
  if (type === 'integer' || type === 'number') return { form: make(property), read: Number };
  if (type === 'string') {
    const shown = TEXT_FORMATS.includes(String(format)) ? property : { ...property, format: undefined };
    return { form: make(shown), read: String };
  }
  const initial = property.default === undefined ? '' : JSON.stringify(property.default);
  return { form: { ...make({ type: 'string' }), kind: 'json', initial }, read: parse };
}

/** A choice of values of any kind. */
function choice(make: (shape: Json) => FormField, values: unknown[], initial: unknown): InputField {
  const texts = values.map((value) => JSON.stringify(value));
  const form = make({
    type: 'string',
    enum: texts,
    enumNames: values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))),
    default: initial === undefined ? undefined : JSON.stringify(initial),
  });
  return { form, read: parse };
}

/** Schemas often allow null beside the value: such a parameter can as well be left out. */
function simplify(property: unknown): Json {
  if (typeof property !== 'object' || property === null || Array.isArray(property)) return {};
  const { anyOf, oneOf, ...rest } = property as Json;
  const branches = (anyOf ?? oneOf) as Json[] | undefined;
  if (Array.isArray(branches)) {
    const others = branches.filter((branch) => branch?.type !== 'null');
    return others.length === 1 ? { ...simplify(others[0]), ...rest } : rest;
  }
  if (!Array.isArray(rest.type)) return rest;
  const types = (rest.type as unknown[]).filter((type) => type !== 'null');
  return { ...rest, type: types.length === 1 ? types[0] : undefined };
}

function parse(text: FieldValue): unknown {
  return JSON.parse(String(text));
}
