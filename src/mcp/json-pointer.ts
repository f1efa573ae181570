/** True if a `$ref` in the schema refers to a part of it. */
export function refersTo(root: object, ref: string): boolean {
  if (ref === '#') return true;
  if (!ref.startsWith('#/')) return false;
  let place: unknown = root;
  for (const token of ref.slice(2).split('/')) {
    const key = decodeToken(token);
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, key)) return false;
    place = (place as Record<string, unknown>)[key];
  }
  return true;
}

/** Decodes a token of a JSON Pointer in a URI fragment (RFC 6901 §6). A token with a broken escape stays as it is. */
export function decodeToken(token: string): string {
  let text = token;
  try {
    text = decodeURIComponent(token);
  } catch {
    // The escape is not valid UTF-8.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}
