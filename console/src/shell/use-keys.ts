import { useEffect, useLayoutEffect } from 'preact/hooks';

/** What keys do, by `event.key`; `mod+k` with Ctrl or Command. */
export type Keys = Record<string, (event: KeyboardEvent) => void>;

/** Keys of the whole page. Those without a modifier rest while a person types or a dialog is open. */
export function useKeys(keys: Keys): void {
  // Before the next key: Enter opens what J has just chosen.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.altKey) return;
      const withModifier = event.metaKey || event.ctrlKey;
      const act = keys[withModifier ? `mod+${event.key.toLowerCase()}` : event.key];
      if (act === undefined) return;
      if (!withModifier && (isTyping(event.target) || document.querySelector('dialog[open]') !== null)) return;
      event.preventDefault();
      act(event);
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  });
}

/** Escape leaves a field, so that the keys of the page work again. A dialog closes first. */
export function useLeaveField(): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || event.isComposing || document.querySelector('dialog[open]') !== null) return;
      if (isTyping(event.target)) (event.target as HTMLElement).blur();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input:not([type=checkbox]), textarea, select') !== null;
}
