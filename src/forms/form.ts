import { asJsonObject, isJsonObject, withoutNulls, type JsonObject } from '../platform/json-object.js';
import { hidesText } from '../platform/text.js';
import { misfitOf } from './answer.js';
import type { Choices, Field, Form, Labelled, Option, Options, Text } from './fields.js';
import { isFormat } from './formats.js';

/** The form is not one that a person can answer. The message names the keyword. */
export class FormError extends Error {
  override readonly name = 'FormError';
}

const MAX_SHOWN_PLACE = 200;

/** Returns the form that a server's schema describes. @throws FormError if it is not valid or not flat */
export function readForm(schema: unknown): Form {
  const { type, properties, required } = withoutNulls(schema);
  if (type !== 'object') throw wrong('type', 'must be "object"');
  if (!isJsonObject(properties)) throw wrong('properties', 'must be an object');
  const fields = Object.entries(properties).map(([name, field]) => {
    const place = `properties.${name}`;
    if (name === '__proto__' || hidesText(name)) throw wrong(place, 'has a name that is not allowed');
    return [name, readField(field, place)] as const;
  });
  const form: Form = { type, properties: Object.fromEntries(fields) };
  if (required === undefined) return form;
  const names = distinctTexts(required, 'required');
  const unknown = names.find((name) => !Object.hasOwn(form.properties, name));
  if (unknown !== undefined) throw wrong('required', `names ${JSON.stringify(unknown)}, which is no field of the form`);
  return { ...form, required: names };
}

function readField(schema: unknown, place: string): Field {
  const field = withoutNulls(schema);
  const read = new Reader(field, place);
  const labels = { ...read.text('title'), ...read.text('description') };
  const form = ((): Field => {
    switch (field.type) {
      case 'boolean':
        return { type: 'boolean', ...labels };
      case 'number':
      case 'integer':
        return { type: field.type, ...labels, ...read.range('minimum', 'maximum') };
      case 'array':
        return { type: 'array', ...labels, ...read.sizes('minItems', 'maxItems'), items: readItems(field, place) };
      case 'string':
        if ('enum' in field || 'oneOf' in field) return { type: 'string', ...labels, ...readOptions(field, place) };
        return { type: 'string', ...labels, ...read.sizes('minLength', 'maxLength'), ...read.format() };
      default:
        throw wrong(`${place}.type`, 'must be "string", "number", "integer", "boolean" or "array"');
    }
  })();
  if (field.default === undefined) return form;
  const misfit = misfitOf(form, field.default);
  if (misfit !== null) throw wrong(`${place}.default`, `does not fit the field: it ${misfit.message}`);
  return { ...form, default: field.default } as Field;
}

function readItems({ items }: JsonObject, place: string): Choices['items'] {
  const options = withoutNulls(items);
  if ('anyOf' in options) return { anyOf: titledOptions(options.anyOf, `${place}.items.anyOf`) };
  if (options.type !== 'string' || !('enum' in options)) {
    throw wrong(`${place}.items`, 'must be {"type": "string", "enum": […]} or {"anyOf": [{"const": …, "title": …}]}');
  }
  return { type: 'string', enum: distinctTexts(options.enum, `${place}.items.enum`, 1) };
}

function readOptions(field: JsonObject, place: string): Options {
  if (!('enum' in field)) return { oneOf: titledOptions(field.oneOf, `${place}.oneOf`) };
  const values = distinctTexts(field.enum, `${place}.enum`, 1);
  if (field.enumNames === undefined) return { enum: values };
  const names = texts(field.enumNames, `${place}.enumNames`);
  if (names.length !== values.length) throw wrong(`${place}.enumNames`, 'must have one name for each value of enum');
  return { enum: values, enumNames: names };
}

function titledOptions(value: unknown, place: string): Option[] {
  const options = (Array.isArray(value) ? value : []).map(asJsonObject);
  distinctTexts(Array.isArray(value) ? options.map((option) => option.const) : value, place, 1);
  const titles = texts(
    options.map(({ title }) => title),
    place,
  );
  return options.map((option, n) => ({ const: option.const as string, title: titles[n]! }));
}

function texts(value: unknown, place: string): string[] {
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    throw wrong(place, 'must be a list of texts');
  }
  if (value.some(hidesText)) throw wrong(place, HIDES);
  return value;
}

function distinctTexts(value: unknown, place: string, atLeast = 0): string[] {
  const list = texts(value, place);
  if (list.length < atLeast) throw wrong(place, 'must not be empty');
  if (new Set(list).size < list.length) throw wrong(place, 'has a value twice');
  return list;
}

const HIDES = 'has control characters or overrides of the writing direction';

/** Reads the keywords of one field that it may leave out. */
class Reader {
  constructor(
    private readonly field: JsonObject,
    private readonly place: string,
  ) {}

  text(keyword: 'title' | 'description'): Labelled {
    const value = this.field[keyword];
    if (value === undefined) return {};
    if (typeof value !== 'string') throw wrong(`${this.place}.${keyword}`, 'must be a text');
    if (hidesText(value)) throw wrong(`${this.place}.${keyword}`, HIDES);
    return { [keyword]: value };
  }

  format(): Pick<Text, 'format'> {
    const { format } = this.field;
    if (format === undefined) return {};
    if (!isFormat(format)) throw wrong(`${this.place}.format`, 'must be "email", "uri", "date" or "date-time"');
    return { format };
  }

  sizes<Keyword extends string>(...keywords: [Keyword, Keyword]): { [_ in Keyword]?: number } {
    const isSize = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
    return this.#bounds(keywords, isSize, 'must be an integer of at least 0');
  }

  range<Keyword extends string>(...keywords: [Keyword, Keyword]): { [_ in Keyword]?: number } {
    return this.#bounds(keywords, Number.isFinite, 'must be a number');
  }

  #bounds<Keyword extends string>(
    keywords: [Keyword, Keyword],
    isBound: (value: unknown) => boolean,
    rule: string,
  ): { [_ in Keyword]?: number } {
    const given = keywords.filter((keyword) => this.field[keyword] !== undefined);
    for (const keyword of given) if (!isBound(this.field[keyword])) throw wrong(`${this.place}.${keyword}`, rule);
    const [low, high] = keywords;
    if (given.length === 2 && (this.field[low] as number) > (this.field[high] as number)) {
      throw wrong(`${this.place}.${low}`, `must not be greater than ${high}`);
    }
    return Object.fromEntries(given.map((keyword) => [keyword, this.field[keyword]])) as { [_ in Keyword]?: number };
  }
}

function wrong(place: string, rule: string): FormError {
  return new FormError(`requestedSchema.${place.slice(0, MAX_SHOWN_PLACE)} ${rule}`);
}
