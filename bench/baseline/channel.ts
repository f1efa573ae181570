/** The one channel of all bare turns. */
export const CHANNEL = 'bare_turns';
