import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Answer } from '../../../client/src/index.js';

/** Sends the answer to a tool call that waits. */
type SendAnswer = (answer: Answer) => Promise<void>;

export const AnswerContext = createContext<SendAnswer>(() => Promise.reject(new Error('There is no session')));

export function useAnswer(): SendAnswer {
  return useContext(AnswerContext);
}
