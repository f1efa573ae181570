import { SETTING_NAMES } from './settings-schema.js';

/** Variables of other programs may be this close to a short name, such as HOME to HOST. */
const MIN_LENGTH = 8;
const MAX_EDITS = 2;

/** Variables that look like a setting and are none, such as DATABASE_POOL_SISE: one sentence each. */
export function misspeltSettings(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env).flatMap((name) => {
    if (SETTING_NAMES.includes(name)) return [];
    const meant = SETTING_NAMES.filter((setting) => setting.length >= MIN_LENGTH).find(
      (setting) => edits(name, setting) <= MAX_EDITS,
    );
    return meant === undefined ? [] : [`There is no setting ${name}, it has no effect. Is ${meant} meant?`];
  });
}

/** How many characters must be added, removed or replaced to make one text of the other (Levenshtein). */
function edits(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MAX_EDITS) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
