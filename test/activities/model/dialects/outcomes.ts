/** What the service makes of an answer. A text alone: that is its only block, and the turn ends. */
export type Outcome =
  | string
  | { fails: string; type?: string }
  | { content: object[]; stop?: string; usage?: object; thinking?: string };

export interface DialectCase {
  body: string;
  becomes: Outcome;
  /** What the server does after the body; by default it ends the response. */
  then?: 'stays open' | 'pings' | 'breaks' | { repeats: string };
  /** What is waited for does not come: the waits are short. */
  isInVain?: true;
}

/** The answer has these blocks, and calls tools. */
export const used = (content: object[]): Outcome => ({ content, stop: 'tool_use' });

export const fails = (message: string): Outcome => ({ fails: message });
