import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** Rows beyond the edges of the window that are there, too. */
const MARGIN = 12;

/**
 * Which of many rows of the same height are in the window: the others are blank space, so that a list of thousands costs no
 * more than a screen of it.
 */
export function useVisibleRows(
  list: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
): { start: number; end: number } {
  const [range, setRange] = useState({ start: 0, end: 60 });
  useEffect(() => {
    const update = (): void => {
      const top = list.current?.getBoundingClientRect().top ?? 0;
      const start = Math.max(0, Math.floor(-top / rowHeight) - MARGIN);
      const end = Math.ceil((innerHeight - top) / rowHeight) + MARGIN;
      setRange((before) => (before.start === start && before.end === end ? before : { start, end }));
    };
    update();
    addEventListener('scroll', update, { passive: true });
    addEventListener('resize', update);
    return () => (removeEventListener('scroll', update), removeEventListener('resize', update));
  }, [count, rowHeight]);
  return { start: Math.min(range.start, Math.max(0, count - 1)), end: Math.min(range.end, count) };
}
