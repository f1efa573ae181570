import type { Format } from './formats.js';

/** A flat form, as MCP 2025-11-25 defines it. Other keywords of a server's schema are left out. */
export interface Form {
  type: 'object';
  properties: Record<string, Field>;
  required?: string[];
}

export type Field = Text | NumberField | Flag | Choice | Choices;

export interface Labelled {
  title?: string;
  description?: string;
}

export interface Text extends Labelled {
  type: 'string';
  minLength?: number;
  maxLength?: number;
  format?: Format;
  default?: string;
}

interface NumberField extends Labelled {
  type: 'number' | 'integer';
  minimum?: number;
  maximum?: number;
  default?: number;
}

interface Flag extends Labelled {
  type: 'boolean';
  default?: boolean;
}

export type Options = { enum: string[]; enumNames?: string[] } | { oneOf: Option[] } | { anyOf: Option[] };

export interface Option {
  const: string;
  title: string;
}

type Choice = Labelled & { type: 'string'; default?: string } & Options;

export interface Choices extends Labelled {
  type: 'array';
  items: { type?: 'string' } & Options;
  minItems?: number;
  maxItems?: number;
  default?: string[];
}
