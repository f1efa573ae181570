/** Temporal's own environment configuration (contract.md §5), read by its SDK. */
export const TEMPORAL_SETTINGS = [
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS',
  'TEMPORAL_TLS_CLIENT_CERT_PATH',
  'TEMPORAL_TLS_CLIENT_CERT_DATA',
  'TEMPORAL_TLS_CLIENT_KEY_PATH',
  'TEMPORAL_TLS_CLIENT_KEY_DATA',
  'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  'TEMPORAL_TLS_SERVER_CA_CERT_DATA',
  'TEMPORAL_TLS_SERVER_NAME',
  'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION',
  'TEMPORAL_CONFIG_FILE',
  'TEMPORAL_PROFILE',
];

/** Names this short are one letter from too many others (HOST, HOME). */
const SHORTEST = 6;

/**
 * Variables that look like one of `names` spelt wrongly. An environment has many foreign variables: only a name within
 * two letters (one, up to eight letters) of a setting that is not set itself is taken for a mistake.
 */
export function misspelt(env: NodeJS.ProcessEnv, names: string[]): string[] {
  const known = new Set(names);
  const missing = names.filter((name) => name.length >= SHORTEST && (env[name] === undefined || env[name] === ''));
  return Object.keys(env)
    .filter((name) => !known.has(name) && env[name] !== '')
    .flatMap((name) => {
      const meant = missing.find((one) => distance(name.toUpperCase(), one) <= (one.length <= 8 ? 1 : 2));
      return meant === undefined ? [] : [`${name} is no setting: is ${meant} meant?`];
    });
}

/** Letters to insert, delete, replace, or swap with their neighbour, to make `a` of `b`. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}
