import { Operations, segment } from './operations.js';
import { eachItem, type ItemList } from './pages.js';
import type { CreateOptions, RequestOptions } from './transport.js';
import type { NewSchedule, Page, PageQuery, Schedule, ScheduleChange, ScheduleRun } from './types.js';
import { randomId } from './upload.js';

/** The operations of schedules. */
export class ScheduleOperations extends Operations {
  createSchedule(schedule: NewSchedule, options: CreateOptions = {}): Promise<Schedule> {
    const idempotencyKey = options.idempotencyKey ?? randomId();
    return this.transport.json('POST', '/v1/schedules', { json: schedule, ...options, idempotencyKey });
  }

  listSchedules(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Schedule>> {
    return this.transport.json('GET', '/v1/schedules', { query, ...options });
  }

  eachSchedule(query: PageQuery = {}, options: RequestOptions = {}): ItemList<Schedule> {
    return eachItem(query, (page) => this.listSchedules(page, options));
  }

  getSchedule(scheduleId: string, options: RequestOptions = {}): Promise<Schedule> {
    return this.transport.json('GET', pathOf(scheduleId), options);
  }

  updateSchedule(scheduleId: string, change: ScheduleChange, options: RequestOptions = {}): Promise<Schedule> {
    return this.transport.json('PATCH', pathOf(scheduleId), { json: change, ...options });
  }

  deleteSchedule(scheduleId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.send('DELETE', pathOf(scheduleId), options, () => undefined);
  }

  /** Times until the schedule is resumed are not made up for. */
  pauseSchedule(scheduleId: string, options: CreateOptions = {}): Promise<Schedule> {
    return this.#act(scheduleId, 'pause', options);
  }

  resumeSchedule(scheduleId: string, options: CreateOptions = {}): Promise<Schedule> {
    return this.#act(scheduleId, 'resume', options);
  }

  /** Runs the schedule now; `last_run` says what came of it. */
  runSchedule(scheduleId: string, options: CreateOptions = {}): Promise<Schedule> {
    return this.#act(scheduleId, 'run', options);
  }

  listScheduleRuns(
    scheduleId: string,
    query: PageQuery = {},
    options: RequestOptions = {},
  ): Promise<Page<ScheduleRun>> {
    return this.transport.json('GET', `${pathOf(scheduleId)}/runs`, { query, ...options });
  }

  eachScheduleRun(scheduleId: string, query: PageQuery = {}, options: RequestOptions = {}): ItemList<ScheduleRun> {
    return eachItem(query, (page) => this.listScheduleRuns(scheduleId, page, options));
  }

  #act(scheduleId: string, action: string, options: CreateOptions): Promise<Schedule> {
    const idempotencyKey = options.idempotencyKey ?? randomId();
    return this.transport.json('POST', `${pathOf(scheduleId)}/${action}`, { ...options, idempotencyKey });
  }
}

function pathOf(scheduleId: string): string {
  return `/v1/schedules/${segment(scheduleId)}`;
}
