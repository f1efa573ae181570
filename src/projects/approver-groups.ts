import { ServiceError } from '../platform/errors.js';

/** A key with this group approves in every group. Only the command gives it. */
export const EVERY_GROUP = '*';
export const MAX_GROUPS_OF_KEY = 20;
const NAME = /^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/;

/** JSON Schema of a group's name: 1 to 64 lowercase letters, digits and single hyphens, not at an end. */
export const groupName = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
} as const;

/** Groups in a request. */
export const groupsField = {
  type: 'array',
  maxItems: MAX_GROUPS_OF_KEY,
  uniqueItems: true,
  items: groupName,
} as const;

export function isGroupName(name: string): boolean {
  return NAME.test(name);
}

/** The groups among `wanted` that `held` does not have. */
export function missingGroups(held: ReadonlySet<string>, wanted: readonly string[]): string[] {
  return held.has(EVERY_GROUP) ? [] : wanted.filter((group) => !held.has(group));
}

/** True if a key or token with the groups `held` may decide where one of `approvers` has to. */
export function isApprover(held: ReadonlySet<string>, approvers: readonly string[]): boolean {
  return held.has(EVERY_GROUP) || approvers.some((group) => held.has(group));
}

/**
 * Refuses to pass groups on that the caller does not have itself.
 * @throws ServiceError `not_an_approver` with the groups in `details.approver_groups`
 */
export function requireGroups(held: ReadonlySet<string>, wanted: readonly string[]): void {
  const missing = missingGroups(held, wanted);
  if (missing.length === 0) return;
  throw new ServiceError('not_an_approver', `Your key is not in the approver groups ${missing.join(', ')}.`, {
    approver_groups: missing,
  });
}

/**
 * Refuses an answer of a caller that is in none of the groups that approve.
 * @throws ServiceError `not_an_approver` with the groups in `details.approvers`
 */
export function requireApprover(held: ReadonlySet<string>, approvers: readonly string[]): void {
  if (isApprover(held, approvers)) return;
  throw new ServiceError(
    'not_an_approver',
    `Only a key of the approver group ${approvers.join(' or ')} decides this.`,
    {
      approvers,
    },
  );
}
