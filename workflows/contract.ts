/** What others may know of the workflow: names that cross a border are made once. */

export const TURN_WORKFLOW = 'turn';

/** The workflow's id is the turn's. */
export interface TurnInput {
  turnId: string;
}

/** Search attributes of every turn: ids only (docs/operations/turns.md). */
export const SEARCH_ATTRIBUTES = { project: 'ProjectId', session: 'SessionId', model: 'ModelId' } as const;

/** ApplicationFailure type of a late writer: the turn has ended, and nobody needs to end it again. */
export const TURN_ENDED = 'TurnEnded';
