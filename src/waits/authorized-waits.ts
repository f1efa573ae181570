import type { Database } from '../db/db.js';
import type { Round } from '../platform/rounds.js';
import { signalAnswers } from './signal-answers.js';
import { endAuthorizedWaits } from './login.js';

/** Lets calls go on whose user has authorized their server, if the API process that stored the credential died before it did. */
export const authorizedWaits: Round<{ db: Database } & Parameters<typeof signalAnswers>[0]> = {
  name: 'authorized waits',
  everyMs: 1000,
  async run({ db, ...deps }) {
    for (const turnId of await endAuthorizedWaits(db)) signalAnswers(deps, turnId);
  },
};
