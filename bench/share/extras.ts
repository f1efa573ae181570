/** What the service gives its workflows beyond a bare one, each alone. */
export const EXTRAS = [
  'search attributes',
  'static summary and details',
  'current details',
  'activity summary',
  'priority (fairness key)',
  'execution timeout',
  'heartbeat timeout and retry policy',
] as const;

export type Extra = (typeof EXTRAS)[number];
