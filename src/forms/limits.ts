/** Limits of the questions of a turn (decisions.md "Elicitation"): of those that are open, and of all, however soon they are answered. */
export const MAX_OPEN_QUESTIONS = 20;
export const MAX_OPEN_QUESTION_BYTES = 256 * 1024;
export const MAX_QUESTIONS_OF_TURN = 100;
export const MAX_QUESTION_BYTES_OF_TURN = 1024 * 1024;
