import { restoreNumbers } from '../../../src/platform/exact-json.js';

type Fetch = typeof globalThis.fetch;

interface Watch {
  onReachable: (reachable: boolean) => void;
  /** The key is missing, revoked or expired. */
  onRefused: () => void;
}

/** Reports with each answer whether the service can be reached, and when it refuses the key. */
export function watchedFetch({ onReachable, onRefused }: Watch, send: Fetch = (...args) => fetch(...args)): Fetch {
  return async (input, init) => {
    try {
      const response = await send(input, withNumbers(init));
      onReachable(response.status !== 502 && response.status !== 503);
      if (response.status === 401) onRefused();
      return response;
    } catch (error) {
      if (init?.signal?.aborted !== true) onReachable(false);
      throw error;
    }
  };
}

/** What a person sends back of an answer has all digits of its numbers. */
function withNumbers(init: RequestInit | undefined): RequestInit | undefined {
  return typeof init?.body === 'string' ? { ...init, body: restoreNumbers(init.body) } : init;
}

/** `fetch` does not report how much of a body it has sent; XMLHttpRequest does. */
export function uploadingFetch(onProgress: (share: number) => void): Fetch {
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(init.method ?? 'GET', input instanceof Request ? input.url : input);
      request.responseType = 'blob';
      for (const [name, value] of new Headers(init.headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total);
      request.onload = () => resolve(responseOf(request));
      request.onerror = () => reject(new TypeError('The connection broke during the upload'));
      request.onabort = () => reject(init.signal?.reason as Error);
      init.signal?.addEventListener('abort', () => request.abort(), { once: true });
      request.send(init.body as Blob);
    });
}

function responseOf(request: XMLHttpRequest): Response {
  const headers = request
    .getAllResponseHeaders()
    .trim()
    .split('\r\n')
    .map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
  return new Response(request.response as Blob, { status: request.status, headers });
}
