export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value, or an object without keys if it is something else. */
export function asJsonObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** As `asJsonObject`, without the members that are null: libraries of several languages write null for what is not there. */
export function withoutNulls(value: unknown): JsonObject {
  return Object.fromEntries(Object.entries(asJsonObject(value)).filter(([, member]) => member !== null));
}
