import { useState } from 'preact/hooks';

/** The text of a message that is not sent yet. It survives a reload of the page. */
export function useUnsentText(sessionId: string): [string, (text: string) => void] {
  const key = `unsent:${sessionId}`;
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '');
  const change = (next: string): void => {
    if (next === '') sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, next);
    setText(next);
  };
  return [text, change];
}
