/**
 * True if objects and lists nest deeper than `maxDepth` in a JSON value. It does not recurse: call it before code that
 * walks untrusted JSON recursively.
 */
export function isDeeperThan(maxDepth: number, value: unknown): boolean {
  const open = [{ value, depth: 1 }];
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    if (typeof item.value !== 'object' || item.value === null) continue;
    if (item.depth > maxDepth) return true;
    for (const child of Object.values(item.value)) open.push({ value: child, depth: item.depth + 1 });
  }
  return false;
}
