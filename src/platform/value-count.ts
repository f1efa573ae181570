/** Memory that a parsed value takes at most on average, measured with V8: an object with one key of its own. */
export const BYTES_PER_JSON_VALUE = 100;

/** True if a JSON value consists of more than `max` values, itself included. Keys do not count. It does not recurse. */
export function hasMoreValuesThan(max: number, root: unknown): boolean {
  let count = 1;
  const open = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const children: unknown[] = Object.values(value);
    count += children.length;
    if (count > max) return true;
    for (const child of children) open.push(child);
  }
  return false;
}

/** Counts the values of parsed JSON, as `hasMoreValuesThan` does. */
export function countJsonValues(value: unknown): number {
  const open = [value];
  let count = 0;
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    count += 1;
    if (typeof item !== 'object' || item === null) continue;
    for (const child of Object.values(item)) open.push(child);
  }
  return count;
}
