import { createContext, type ComponentChildren } from 'preact';
import { useContext, useState } from 'preact/hooks';

const AnnouncerContext = createContext<(text: string) => void>(() => undefined);

/** One live region for the whole page: a screen reader says what was announced last. */
export function AnnouncerProvider({ children }: { children: ComponentChildren }) {
  const [text, setText] = useState('');
  return (
    <AnnouncerContext.Provider value={setText}>
      {children}
      <div role="status" class="visually-hidden">
        {text}
      </div>
    </AnnouncerContext.Provider>
  );
}

export function useAnnounce(): (text: string) => void {
  return useContext(AnnouncerContext);
}
