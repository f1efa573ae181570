import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type CalendarSpec,
  type Client,
  type ScheduleOptions,
} from '@temporalio/client';
import { FIRE_SCHEDULE_WORKFLOW, type FireScheduleInput } from '../../workflows/contract.js';
import { createDeadline } from './deadline.js';

interface WantedSchedule {
  id: string;
  project_id: string;
  /** What operators see, and what tells one version from another. */
  note: string;
  isPaused: boolean;
  /** The next times to fire, in milliseconds. */
  times: readonly number[];
}

interface ListedSchedule {
  id: string;
  /** The installation that created it. */
  installation: unknown;
  note: string | undefined;
  isPaused: boolean;
  /** The next time, in milliseconds; null if there is none. */
  next: number | null;
}

export interface TurnSchedules {
  /** Creates the schedule or brings it up to date. */
  put(schedule: WantedSchedule): Promise<void>;
  /** Deletes the schedule. Does nothing if there is none. */
  remove(id: string): Promise<void>;
  /** The schedules of this task queue. A list of Temporal's is a few seconds old. */
  list(): AsyncIterable<ListedSchedule>;
}

interface TurnSchedulesOptions {
  taskQueue: string;
  /** Temporal fires missed times that are not older than this. */
  catchupSeconds: number;
  /** The id of this installation: another one on the same namespace keeps its own schedules. */
  installation: () => Promise<string>;
}

/** A worker that is away this long is an outage: what is still due is fired again when it is back. */
const MAX_FIRING = '1 hour';
const MONTHS = [
  ...(['JANUARY', 'FEBRUARY', 'MARCH', 'APRIL', 'MAY', 'JUNE'] as const),
  ...(['JULY', 'AUGUST', 'SEPTEMBER', 'OCTOBER', 'NOVEMBER', 'DECEMBER'] as const),
];

export function createTurnSchedules(client: Client, options: TurnSchedulesOptions): TurnSchedules {
  const withDeadline = createDeadline(client);
  const { taskQueue, catchupSeconds, installation } = options;
  // Several task queues can share a namespace.
  const prefix = `${taskQueue}-`;

  const definition = ({ id, project_id, note, isPaused, times }: WantedSchedule) =>
    ({
      spec: { calendars: calendarsOf(times) },
      policies: {
        // One run of the workflow takes everything that is due by then.
        overlap: ScheduleOverlapPolicy.BUFFER_ONE,
        catchupWindow: catchupSeconds * 1000,
      },
      state: { note, paused: isPaused },
      action: {
        type: 'startWorkflow' as const,
        workflowType: FIRE_SCHEDULE_WORKFLOW,
        workflowId: `fire-${id}`,
        taskQueue,
        args: [{ scheduleId: id } satisfies FireScheduleInput],
        workflowExecutionTimeout: MAX_FIRING,
        priority: { fairnessKey: project_id },
        staticSummary: `schedule ${id}`,
      },
    }) satisfies Omit<ScheduleOptions, 'scheduleId' | 'action'> & { action: object };

  return {
    async put(schedule) {
      const wanted = definition(schedule);
      const scheduleId = prefix + schedule.id;
      const handle = client.schedule.getHandle(scheduleId);
      try {
        await withDeadline(() => handle.update(() => wanted));
      } catch (error) {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
        const memo = { installation: await installation(), project: schedule.project_id };
        try {
          await withDeadline(() => client.schedule.create({ scheduleId, memo, ...wanted }));
        } catch (created) {
          if (!(created instanceof ScheduleAlreadyRunning)) throw created;
          await withDeadline(() => handle.update(() => wanted));
        }
      }
    },

    async remove(id) {
      try {
        await withDeadline(() => client.schedule.getHandle(prefix + id).delete());
      } catch (error) {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
      }
    },

    async *list() {
      for await (const { scheduleId, memo, state, info } of client.schedule.list({ pageSize: 1000 })) {
        if (!scheduleId.startsWith(`${prefix}sched_`)) continue;
        yield {
          id: scheduleId.slice(prefix.length),
          installation: memo?.installation,
          note: state.note,
          isPaused: state.paused,
          next: info.nextActionTimes[0]?.getTime() ?? null,
        };
      }
    },
  };
}

/**
 * Each time by itself, in UTC. Temporal's own reading of calendars in a time zone is not used: where clocks are set
 * back it fires at the second of two equal local times, or at both, and skips others (docs/schedules.md).
 */
function calendarsOf(times: readonly number[]): CalendarSpec[] {
  return times.map((time) => {
    const date = new Date(time);
    return {
      year: date.getUTCFullYear(),
      month: MONTHS[date.getUTCMonth()]!,
      dayOfMonth: date.getUTCDate(),
      hour: date.getUTCHours(),
      minute: date.getUTCMinutes(),
      second: date.getUTCSeconds(),
    };
  });
}
