import { useEffect, useState } from 'preact/hooks';

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
