/** For each client of a model's SDK: no spans of its own, and no `traceparent` in requests to others. */
export const NO_TELEMETRY = { traces: false, propagation: false } as const;
