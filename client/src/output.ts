import type { NewMessage } from './types.js';

/** The schema of a turn's output. Write it in the call, or `as const`, and the output has its type. */
export type OutputSchema = NonNullable<NewMessage['output_schema']>;

/** The type of the values of a JSON Schema; `unknown` where the schema has keywords that say more than types can. */
export type OutputOf<Schema> = Schema extends { const: infer Value }
  ? Value
  : Schema extends { enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { anyOf: readonly (infer Choice)[] } | { oneOf: readonly (infer Choice)[] }
      ? Choice extends unknown
        ? OutputOf<Choice>
        : never
      : Schema extends { type: readonly (infer Type)[] }
        ? Type extends unknown
          ? OfType<Type, Schema>
          : never
        : Schema extends { type: infer Type }
          ? OfType<Type, Schema>
          : unknown;

type OfType<Type, Schema> = Type extends keyof Plain
  ? Plain[Type]
  : Type extends 'array'
    ? (Schema extends { items: infer Item } ? OutputOf<Item> : unknown)[]
    : Type extends 'object'
      ? ObjectOf<Schema>
      : unknown;

interface Plain {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  null: null;
}

type ObjectOf<Schema> = Schema extends { properties: infer Properties }
  ? Flat<
      { [Name in keyof Properties & RequiredOf<Schema>]: OutputOf<Properties[Name]> } & {
        [Name in Exclude<keyof Properties, RequiredOf<Schema>>]?: OutputOf<Properties[Name]>;
      }
    >
  : Record<string, unknown>;

type RequiredOf<Schema> = Schema extends { required: readonly (infer Name)[] } ? Name : never;

type Flat<Type> = { [Name in keyof Type]: Type[Name] };
