import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** In pixels, to the edge of the window. */
const MARGIN = 16;

/** For a `<details>` that opens over the page: Escape and a click elsewhere close it, and it stays inside the window. */
export function usePopover(): RefObject<HTMLDetailsElement | null> {
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const onPointerDown = ({ target }: Event): void => {
      if (!details.current!.contains(target as Node)) details.current!.open = false;
    };
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || event.isComposing || !details.current!.open) return;
      details.current!.open = false;
      details.current!.querySelector('summary')!.focus();
    };
    const place = (): void => {
      const box = details.current!.querySelector<HTMLElement>(':scope > :not(summary)');
      if (box === null || !details.current!.open) return;
      box.style.marginLeft = '0px';
      const over = box.getBoundingClientRect().right + MARGIN - document.documentElement.clientWidth;
      if (over > 0) box.style.marginLeft = `${-over}px`;
    };
    const element = details.current!;
    element.addEventListener('toggle', place);
    addEventListener('resize', place);
    addEventListener('pointerdown', onPointerDown);
    addEventListener('keydown', onKeyDown);
    return () => {
      element.removeEventListener('toggle', place);
      removeEventListener('resize', place);
      removeEventListener('pointerdown', onPointerDown);
      removeEventListener('keydown', onKeyDown);
    };
  }, []);
  return details;
}
