import { createHash } from 'node:crypto';

/**
 * What the model's API takes as the name of a tool. The Messages API allows 128 characters, gateways in front of it
 * often only 64.
 */
const MODEL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_LENGTH = 64;
const HASH_LENGTH = 12;

/** The names of one request to the model: events and history show the full ones (contract.md §4). */
export interface ToolAliases {
  /** The name under which the model knows the tool; also for tools of earlier turns that are offered no more. */
  toModel: (fullName: string) => string;
  /** The full name behind a name the model used, or undefined when it made one up. */
  toFull: (modelName: string) => string | undefined;
}

/**
 * Aliases for `offered`, in this order. A name that the API takes stands for itself; any other gets a readable start and
 * a hash of the whole, so that it is the same in every request (prompt caches stay valid). Should a server name a tool
 * just like another one's alias, the tool with that real name keeps it.
 */
export function toolAliases(offered: readonly string[]): ToolAliases {
  const toModelName = new Map<string, string>();
  const toFullName = new Map<string, string>();
  const give = (fullName: string, alias: string): string => {
    toModelName.set(fullName, alias);
    toFullName.set(alias, fullName);
    return alias;
  };
  const aliasOf = (fullName: string): string => {
    for (let round = 0; ; round += 1) {
      const alias = shortName(fullName, round);
      if (!toFullName.has(alias)) return give(fullName, alias);
    }
  };
  const plain = offered.filter((name) => MODEL_NAME.test(name));
  for (const name of plain) give(name, name);
  for (const name of offered) if (!toModelName.has(name)) aliasOf(name);
  return {
    toModel: (fullName) => toModelName.get(fullName) ?? (MODEL_NAME.test(fullName) ? fullName : shortName(fullName, 0)),
    toFull: (modelName) => toFullName.get(modelName),
  };
}

function shortName(fullName: string, round: number): string {
  const hash = createHash('sha256').update(`${round} ${fullName}`).digest('hex').slice(0, HASH_LENGTH);
  return `${fullName.replace(/[^a-zA-Z0-9_-]/gu, '_').slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
