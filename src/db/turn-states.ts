/** A turn in one of these states blocks its session and counts against its project's limit. */
export const OPEN_STATES = ['queued', 'running'] as const;

export type TurnState = (typeof OPEN_STATES)[number] | 'completed' | 'cancelled' | 'failed';

export function isOpen(state: TurnState): boolean {
  return state === 'queued' || state === 'running';
}

/** SQL condition on the column `state` of turns. */
export const OPEN = `state IN (${OPEN_STATES.map((state) => `'${state}'`).join(', ')})`;
