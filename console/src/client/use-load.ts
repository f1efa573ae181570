import { useEffect, useState } from 'preact/hooks';

interface Loaded<Value> {
  /** Null until it has come. */
  value: Value | null;
  error: unknown;
  /** Takes what another operation has answered with. */
  replace: (value: Value) => void;
}

/** Reads something once, and again when `dependencies` change. */
export function useLoad<Value>(load: (signal: AbortSignal) => Promise<Value>, dependencies: unknown[]): Loaded<Value> {
  const [value, setValue] = useState<Value | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const leave = new AbortController();
    load(leave.signal).then(
      (loaded) => (setValue(() => loaded), setError(null)),
      (cause: unknown) => {
        if (!leave.signal.aborted) setError(cause);
      },
    );
    return () => leave.abort();
  }, dependencies);
  return { value, error, replace: (next) => setValue(() => next) };
}
