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
