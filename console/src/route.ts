import { useEffect, useState } from 'preact/hooks';

/** The path in the fragment, in segments: `#/sessions/ses_1` is `['sessions', 'ses_1']`. */
export function useRoute(): string[] {
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

function readRoute(): string[] {
  return location.hash
    .replace(/^#\/?/, '')
    .split('/')
    .map((segment) => decodeURIComponent(segment));
}
