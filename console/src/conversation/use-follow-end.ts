import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

/** So close to the end of the page, in pixels, counts as being there. */
const END_MARGIN = 80;

/** Keeps the end of the page in view while it grows, unless the reader has scrolled up. */
export function useFollowEnd(content: unknown): void {
  const atEnd = useRef(true);
  useEffect(() => {
    const onScroll = (): void => {
      const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
      atEnd.current = scrollHeight - scrollTop - clientHeight < END_MARGIN;
    };
    addEventListener('scroll', onScroll, { passive: true });
    return () => removeEventListener('scroll', onScroll);
  }, []);
  useLayoutEffect(() => {
    if (atEnd.current) document.documentElement.scrollTop = document.documentElement.scrollHeight;
  }, [content]);
}
