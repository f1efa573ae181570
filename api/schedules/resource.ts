import type { Tx } from '../../src/db/db.js';
import { ServiceError } from '../../src/platform/errors.js';
import type { Schedule } from '../../src/schedules/schedule.js';
import { findSchedule, lockSchedule } from '../../src/schedules/store.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import type { Call } from '../http/core/operation.js';
import { resourceOfPath } from '../http/core/resource.js';
import { presentSchedule } from './present.js';

export const scheduleOfPath = resourceOfPath('schedule_id', findSchedule, scheduleNotFound);

export function scheduleNotFound(): never {
  throw new ServiceError('schedule_not_found', 'There is no such schedule.');
}

export type LockedSchedule = NonNullable<Awaited<ReturnType<typeof lockSchedule>>>;

/** Changes the schedule of a call under its lock, has Temporal follow, and returns it as it is now. */
export async function change(
  call: Pick<Call<unknown, Schedule>, 'deps' | 'resource' | 'record'>,
  work: (tx: Tx, schedule: LockedSchedule) => Promise<Schedule>,
): Promise<unknown> {
  const answer = await answerInTransaction(call, async (tx) => {
    const locked = (await lockSchedule(tx, call.resource)) ?? scheduleNotFound();
    return presentSchedule(await work(tx, locked));
  });
  call.deps.schedules.sync(call.resource.id);
  return answer;
}

/** @throws ServiceError `session_not_found` */
export function requireSession({ session_exists: exists }: LockedSchedule): void {
  if (exists) return;
  throw new ServiceError('session_not_found', 'The session of this schedule is deleted. Create another schedule.');
}
