import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

/**
 * What a fork is for: to send another text in place of the turn's message, to send the same message again, or to go on
 * after the turn in another way.
 */
export type ForkPurpose = 'edit' | 'again' | 'after';

export type StartFork = (purpose: ForkPurpose, turnId: string) => void;

export const ForkContext = createContext<StartFork>(() => undefined);

/** Asks for what the fork needs, makes it and opens it. */
export function useFork(): StartFork {
  return useContext(ForkContext);
}
