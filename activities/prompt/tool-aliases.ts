import { createHash } from 'node:crypto';

/**
 * Tool names that the model's API accepts. The Messages API allows 128 characters, gateways in front of it often only 64.
 */
const MODEL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_LENGTH = 64;
const HASH_LENGTH = 12;

/** Tool names of one request to the model. Events and history have the full names (contract.md §4). */
export interface ToolAliases {
  /** Returns the alias of a tool, also of a tool from an earlier turn that is no longer offered. */
  toModel: (fullName: string) => string;
  /** Returns the full name of an alias, or undefined if the model invented the alias. */
  toFull: (modelName: string) => string | undefined;
}

/**
 * Creates aliases for `offered`, in this order. A name the API accepts is its own alias. Other names get a readable start
 * and a hash of the full name, so that the alias is the same in every request and prompt caches stay valid. If one
 * tool's name equals another tool's alias, the tool with that name keeps it.
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
