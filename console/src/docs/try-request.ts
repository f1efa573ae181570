import type { OpenApi, PlacedOperation } from './document.js';

/** A request that the page can send by itself: neither a file nor a stream, and with a key. */
export function canTry({ path, operation: { requestBody, responses } }: PlacedOperation): boolean {
  const bodies = Object.keys(requestBody?.content ?? {});
  const [, success] = Object.entries(responses).find(([status]) => Number(status) < 400) ?? [];
  const answers = Object.keys(success?.content ?? {});
  const isJson = (types: string[]): boolean => types.every((type) => type === 'application/json');
  return path.startsWith('/v1/') && success !== undefined && isJson(bodies) && isJson(answers) && !('307' in responses);
}

/** The address of a request, and its options, from what the form has. Empty values are left out. @throws SyntaxError if the body is no JSON */
export function requestOf(
  { method, path, operation }: PlacedOperation,
  { servers }: Pick<OpenApi, 'servers'>,
  values: Record<string, string>,
  body: string,
  key: string,
): { url: string; init: { method: string; headers: Record<string, string>; body?: string } } {
  const places = operation.parameters ?? [];
  const given = (place: string) => places.filter(({ name, in: its }) => its === place && (values[name] ?? '') !== '');
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const query = new URLSearchParams(given('query').map(({ name }): [string, string] => [name, values[name]!]));
  const hasBody = body.trim() !== '';
  if (hasBody) JSON.parse(body);
  return {
    url: `${servers?.[0]?.url ?? ''}${address}${query.size > 0 ? `?${query.toString()}` : ''}`,
    init: {
      method,
      headers: {
        Authorization: `Bearer ${key.trim()}`,
        ...(hasBody && { 'Content-Type': 'application/json' }),
        ...Object.fromEntries(given('header').map(({ name }) => [name, values[name]!])),
      },
      ...(hasBody && { body }),
    },
  };
}
