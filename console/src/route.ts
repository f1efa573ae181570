import { useEffect, useState } from 'preact/hooks';

/** An address of the console: `#/sessions/ses_…?turn=turn_…`. */
export interface Route {
  segments: string[];
  query: URLSearchParams;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const onChange = (): void => setRoute(readRoute());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return route;
}

export function navigate(path: string): void {
  location.hash = `#${path}`;
}

/** Keeps the state of a view in its address, so that a link and a reload show the same. Adds no entry to the history. */
export function replaceQuery(query: Record<string, string | undefined>): void {
  const given = Object.entries(query).filter((pair): pair is [string, string] => !!pair[1]);
  const search = new URLSearchParams(given).toString();
  const [path] = location.hash.split('?');
  const next = `${path}${search === '' ? '' : `?${search}`}`;
  if (next !== location.hash) history.replaceState(null, '', next);
}

export function readRoute(): Route {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { segments: path.split('/').map(decode), query: new URLSearchParams(search) };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
