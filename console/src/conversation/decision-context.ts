import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Answer, SessionAuthorization } from '../../../client/src/index.js';
import type { Budget } from './budget.js';

/** Gives the session another budget. Returns false if its turn still waits for a larger one. */
export type SetBudget = (budget: Budget | null) => Promise<boolean>;

export interface Decisions {
  /** Sends the answer to a tool call that waits. */
  answer: (answer: Answer) => Promise<void>;
  setBudget: SetBudget;
  /** The user of the session: for whom the agent acts. */
  user: string | null;
  /** Where the user of the session authorizes an MCP server. */
  authorize: (mcpServerId: string) => Promise<SessionAuthorization>;
}

const nobody = (): Promise<never> => Promise.reject(new Error('There is no session'));

export const DecisionContext = createContext<Decisions>({
  answer: nobody,
  setBudget: nobody,
  authorize: nobody,
  user: null,
});

export function useDecisions(): Decisions {
  return useContext(DecisionContext);
}
