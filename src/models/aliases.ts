import { createHash } from 'node:crypto';

/**
 * Tool names that the model's API accepts. The Messages API allows 128 characters, gateways in front of it often only 64.
 */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_LENGTH = 64;
const HASH_LENGTH = 12;

/** Names in one request to the model. Events and history have the full names (decisions.md "What the agent has"). */
export interface Aliases {
  /** Returns the alias of a name, also of a tool from an earlier turn that is no longer offered. */
  toModel: (fullName: string) => string;
  /** Returns the full name of an alias, or undefined if the model invented the alias. */
  toFull: (alias: string) => string | undefined;
}

export function toolAliases(offered: readonly string[]): Aliases {
  return createAliases(offered, TOOL_NAME);
}

/**
 * Creates aliases for names, in this order. A name that is accepted is its own alias. Other names get a readable start and
 * a hash of the full name, so that the alias is the same in every request and prompt caches stay valid. If one name equals
 * the alias of another, the name keeps it.
 */
export function createAliases(names: readonly string[], accepted: RegExp): Aliases {
  const aliases = new Map<string, string>();
  const originals = new Map<string, string>();
  const give = (name: string, alias: string): void => {
    aliases.set(name, alias);
    originals.set(alias, name);
  };
  for (const name of names) if (accepted.test(name)) give(name, name);
  for (const name of names) {
    for (let round = 0; !aliases.has(name); round += 1) {
      const alias = shortName(name, round);
      if (!originals.has(alias)) give(name, alias);
    }
  }
  return {
    toModel: (name) => aliases.get(name) ?? (accepted.test(name) ? name : shortName(name, 0)),
    toFull: (alias) => originals.get(alias),
  };
}

function shortName(name: string, round: number): string {
  const hash = createHash('sha256').update(`${round} ${name}`).digest('hex').slice(0, HASH_LENGTH);
  return `${name.replace(/[^a-zA-Z0-9_-]/gu, '_').slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
