/** The response to a request; `body` is the parsed JSON, null without a body. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of many shapes
  body: any;
}

export type ApiCall = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<ApiResponse>;

/** Looks at each response that a client of the tests gets; throws when it is not as documented. */
export type ResponseCheck = (method: string, path: string, response: ApiResponse) => void;

/** A client with one key. A body that is a string, bytes or a form goes out as it is, anything else as JSON. */
export function apiClient(url: string, key: string | null, check: ResponseCheck): ApiCall {
  return async (method, path, body, headers = {}) => {
    const raw = typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData;
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(key !== null && { Authorization: `Bearer ${key}` }),
        ...(body !== undefined && !(body instanceof FormData) && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: raw ? body : body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    const answer = {
      status: response.status,
      headers: response.headers,
      body: isJson && text !== '' ? JSON.parse(text) : text || null,
    };
    check(method, path, answer);
    return answer;
  };
}
