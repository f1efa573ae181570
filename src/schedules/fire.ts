import type { Database, Tx } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { launchTurn } from '../turns/begin.js';
import type { ModelCatalogue } from '../models/catalogue.js';
import type { Config } from '../platform/config.js';
import type { Logger } from '../platform/logger.js';
import type { Notifier } from '../stream/notify.js';
import type { TurnWorkflows } from '../temporal/turn-workflows.js';
import { timesAfter } from './calendar/next-times.js';
import { countEndedTurns } from './failures.js';
import { scheduleDelaySeconds, schedulePauses, scheduleRuns } from './metrics.js';
import { withLockedSchedule, type LockedSchedule } from './lock.js';
import { insertRun, KEPT_MS, takeTimes, updateRun, type Run } from './runs.js';
import { nextRun, timingOf, type Schedule, type SkipReason } from './schedule.js';
import { startTurn, type Started } from './start-turn.js';
import { changeSchedule } from './store.js';

export interface FireDeps {
  db: Database;
  log: Logger;
  models: ModelCatalogue;
  config: Pick<Config, 'sandboxProvider' | 'maxStoragePerProject'>;
  notifier: Notifier;
  workflows: TurnWorkflows;
}

/** Temporal's clock may be ahead of Postgres' by this. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000;
/** Missed times that are listed after an outage, the latest ones. */
const MAX_MISSED_RUNS = 1000;

/** What came of firing a schedule: nothing was due, the latest due time's run, a run that it had, or a pause instead of it. */
type FireOutcome = 'nothing due' | 'paused' | 'started' | 'taken before' | SkipReason;

/**
 * Starts a turn for the latest time of a schedule that is due, in one transaction with the record of it. Each due
 * time is claimed once, so firing it again does nothing. Earlier times are skipped as `missed`, and so is the latest
 * one if it is later than the catch-up allows.
 * @param scheduledAt the time that Temporal fires, in milliseconds
 * @returns what came of it, and the turn that was launched
 */
export async function fireSchedule(
  deps: FireDeps & { catchupSeconds: number },
  scheduleId: string,
  scheduledAt: number | null,
): Promise<{ outcome: FireOutcome; turnId: string | null }> {
  const [target] = await runSql<Pick<Schedule, 'id' | 'session_id' | 'project_id' | 'key_id'>>(
    deps.db,
    sql`SELECT id, session_id, project_id, key_id FROM schedules WHERE id = ${scheduleId} AND deleted_at IS NULL`,
  );
  if (target === undefined) return { outcome: 'nothing due', turnId: null };
  const { outcome, turn, missed, delayMs } = await withLockedSchedule(deps.db, target, async (tx, schedule) => {
    if (schedule === null || schedule.next_run_at === null) return { outcome: 'nothing due' as const };
    if (await countEndedTurns(tx, schedule.id)) return { outcome: 'paused' as const };
    return fireLocked(tx, deps, schedule, scheduledAt);
  });
  if (turn != null) launchTurn(deps, turn);
  if (outcome === 'paused') schedulePauses.inc();
  if (missed !== undefined && missed > 0) scheduleRuns.inc({ outcome: 'missed' }, missed);
  if (delayMs !== undefined) {
    scheduleRuns.inc({ outcome });
    if (outcome === 'started') scheduleDelaySeconds.observe(delayMs / 1000);
  }
  const { project_id, key_id } = target;
  deps.log.info({ schedule_id: scheduleId, project_id, key_id, outcome, turn_id: turn?.id }, 'schedule fired');
  return { outcome, turnId: turn?.id ?? null };
}

interface Fired {
  outcome: FireOutcome;
  turn?: Started['turn'] | null;
  /** Earlier times that were skipped. */
  missed?: number;
  /** Since the latest due time; absent if nothing was due. */
  delayMs?: number;
}

async function fireLocked(
  tx: Tx,
  deps: FireDeps & { catchupSeconds: number },
  schedule: LockedSchedule,
  scheduledAt: number | null,
): Promise<Fired> {
  const now = Date.parse(schedule.now);
  const isAhead = scheduledAt !== null && scheduledAt > now && scheduledAt < now + MAX_CLOCK_DIFFERENCE_MS;
  const through = isAhead ? scheduledAt : now;
  const due = dueTimes(schedule, through);
  const latest = due.pop();
  if (latest === undefined) return { outcome: 'nothing due' };

  const taken = await takeTimes(tx, schedule.id, [...due, latest]);
  const isFree = taken.delete(latest);
  const isLate = latest < now - deps.catchupSeconds * 1000;
  const run = isFree && !isLate ? await attempt(tx, deps, schedule, new Date(latest).toISOString()) : null;
  if (run !== null) await updateRun(tx, schedule.id, run);
  const next = nextRun(schedule, Math.max(latest, through, Date.parse(schedule.next_after)));
  if (next === null) await changeSchedule(tx, schedule.id, { state: 'ended', next_run_at: null });
  else await runSql(tx, sql`UPDATE schedules SET next_run_at = ${next} WHERE id = ${schedule.id}`);
  if (!isFree) return { outcome: 'taken before', missed: taken.size };
  const outcome = run === null ? 'missed' : (run.reason ?? 'started');
  return { outcome, turn: run?.turn ?? null, missed: taken.size, delayMs: Math.max(0, now - latest) };
}

/** The times from `next_run_at` on that are due, the newest of them if there are many. */
function dueTimes(schedule: LockedSchedule, through: number): number[] {
  const since = Math.max(Date.parse(schedule.next_run_at!), through - KEPT_MS);
  const due: number[] = [];
  for (const time of timesAfter(timingOf(schedule), since - 1)) {
    if (time > through) break;
    due.push(time);
    if (due.length > 2 * MAX_MISSED_RUNS) due.splice(0, MAX_MISSED_RUNS);
  }
  return due.slice(-MAX_MISSED_RUNS - 1);
}

function skipped(scheduled_at: string, reason: SkipReason): Run & { turn: null } {
  return { scheduled_at, started_at: null, state: 'skipped', session_id: null, turn_id: null, reason, turn: null };
}

/** Starts a turn for a locked schedule; the run says what came of it. */
async function attempt(
  tx: Tx,
  { models, config, workflows }: Pick<FireDeps, 'models' | 'config' | 'workflows'>,
  schedule: LockedSchedule,
  scheduledAt: string,
): Promise<Run & Pick<Started, 'turn'>> {
  const started = await startTurn(tx, { models, config, namespace: workflows.namespace }, schedule);
  if (typeof started === 'string') return skipped(scheduledAt, started);
  return { ...started.run, scheduled_at: scheduledAt, state: 'started', reason: null, turn: started.turn };
}

/**
 * Runs a locked schedule now. Its times stay as they are.
 * @returns the schedule with its new run, and what to do after the commit
 */
export async function runNow(
  tx: Tx,
  deps: FireDeps,
  schedule: LockedSchedule,
): Promise<{ ran: Schedule; launch: () => void }> {
  const { turn, ...run } = await attempt(tx, deps, schedule, schedule.now);
  await insertRun(tx, schedule.id, run);
  return {
    ran: { ...schedule, last_run: JSON.stringify(run) },
    launch() {
      if (turn != null) launchTurn(deps, turn);
      scheduleRuns.inc({ outcome: run.reason ?? 'started' });
    },
  };
}
