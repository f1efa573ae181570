import type { Database } from '../db/db.js';
import type { Round } from '../platform/rounds.js';
import type { ErasureWorkflows } from '../temporal/erasure-workflows.js';
import { findStale } from './store.js';

export interface ErasureRoundDeps {
  db: Database;
  erasures: ErasureWorkflows;
}

/** A step is shorter. A workflow whose activity waits before its next attempt is started again without effect. */
const STALE_SECONDS = 5;
const MAX_STARTED = 20;

/** Starts the workflow of each project's oldest erasure that shows no sign of life: its start was lost, or its turn has come. */
export const staleErasures: Round<ErasureRoundDeps> = {
  name: 'erasures',
  everyMs: 2000,
  async run({ db, erasures }) {
    for (const erasure of await findStale(db, STALE_SECONDS, MAX_STARTED)) await erasures.start(erasure);
  },
};
