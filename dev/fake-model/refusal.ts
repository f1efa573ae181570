import { ModelFailure } from './wire.js';

/** A JSON object. */
export type Fields = Record<string, unknown>;

/** What the validator has to ask its server. */
export interface Issued {
  /** Whether the signature is one of this server's, for this thinking. */
  signed(thinking: string, signature: string): boolean;
  /** Whether the call was issued in a message that had thought before. */
  calledAfterThinking(toolUseId: string): boolean;
}

/** How much a request thinks. `manual` is the only form in which the API insists on thinking before a call. */
export type Thinks = 'no' | 'manual' | 'adaptive';

/** The name of a tool, in the list of tools and in a call. */
export const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** Refuses a request as the real API does: 400, `invalid_request_error`. */
export function refuse(message: string): never {
  throw new ModelFailure('invalid_request_error', message);
}

/** Whether a value is a JSON object. */
export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Refuses fields that are not of the API: it does, and a client that sends back what it got stumbles over it. */
export function onlyFields(value: Fields, allowed: ReadonlySet<string>, path: string): void {
  for (const field of Object.keys(value)) {
    if (!allowed.has(field)) refuse(`${path}${path === '' ? '' : '.'}${field}: Extra inputs are not permitted`);
  }
}
