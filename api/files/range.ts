/** The requested part of `size` bytes (RFC 9110, 14): everything, one range, or a range outside the file. */
type Asked = 'all' | 'unsatisfiable' | { start: number; end: number };

/** Multiple ranges, other units and malformed headers get the whole file, as RFC 9110 allows. */
export function askedRange(header: string | undefined, size: number): Asked {
  const [, from, to] = /^bytes=[\t ]*(\d{0,15})-(\d{0,15})[\t ]*$/i.exec(header ?? '') ?? [];
  if (from === undefined || to === undefined || (from === '' && to === '')) return 'all';
  if (from === '') {
    const suffix = Math.min(Number(to), size);
    return suffix === 0 ? 'unsatisfiable' : { start: size - suffix, end: size - 1 };
  }
  if (to !== '' && Number(to) < Number(from)) return 'all';
  if (Number(from) >= size) return 'unsatisfiable';
  return { start: Number(from), end: Math.min(to === '' ? size - 1 : Number(to), size - 1) };
}
