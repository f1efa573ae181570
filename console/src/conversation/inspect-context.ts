import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** What the inspector shows. `latest` follows the newest turn. */
export type Selected =
  | { kind: 'latest' }
  | { kind: 'session' }
  | { kind: 'workspace' }
  | { kind: 'turn'; turnId: string }
  | { kind: 'tool'; turnId: string; toolUseId: string };

interface Inspect {
  selected: Selected;
  select: (selected: Selected) => void;
}

export const InspectContext = createContext<Inspect>({ selected: { kind: 'latest' }, select: () => undefined });

export function useInspect(): Inspect {
  return useContext(InspectContext);
}
