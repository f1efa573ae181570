/**
 * A worker is lost when it is killed, runs out of memory or does not answer for longer than its lease. Deploys and crashes
 * that the activity has not caused take one or two workers from it. An activity that takes more of them is likely their
 * cause: what a server answered is too much for a worker. It must not go on to the next one for as long as the turn may
 * last.
 */
export const MAX_LOST_WORKERS = 3;
/** A model call ends the turn, so it gets more attempts: the cause may be another turn on the same workers. */
export const MAX_LOST_WORKERS_OF_MODEL_CALL = 10;
