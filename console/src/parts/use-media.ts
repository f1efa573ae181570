import { useEffect, useState } from 'preact/hooks';

/** Narrower than this, views have one column. As in the styles. */
export const PHONE = '(width < 48rem)';
/** As wide as this, a conversation has a list and an inspector beside it. */
export const WIDE = '(width >= 80rem)';

export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const onChange = (): void => setMatches(list.matches);
    onChange();
    list.addEventListener('change', onChange);
    return () => list.removeEventListener('change', onChange);
  }, [query]);
  return matches;
}
