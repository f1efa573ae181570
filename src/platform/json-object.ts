export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value, or an object without keys if it is something else. */
export function asJsonObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
