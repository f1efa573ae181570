/** The NOTIFY channel of all baseline turns. */
export const CHANNEL = 'bare_turns';
