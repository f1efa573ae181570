import { useState } from 'preact/hooks';

export interface Action<Args extends unknown[]> {
  run: (...args: Args) => void;
  busy: boolean;
  error: unknown;
  clear: () => void;
}

/** A request that a person starts: whether it is under way, and the error it ended with. */
export function useAction<Args extends unknown[]>(act: (...args: Args) => Promise<void>): Action<Args> {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async (...args: Args): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await act(...args);
    } catch (cause) {
      setError(cause);
    }
    setBusy(false);
  };
  return { run: (...args) => void run(...args), busy, error, clear: () => setError(null) };
}
