import type { Db } from '../../src/db/db.js';
import { checkMessage, type MessageBody } from '../../src/messages/message.js';
import { ServiceError, validationError } from '../../src/platform/errors.js';
import { utcTimestamp } from '../../src/platform/timestamps.js';
import { CronError, parseCron, shortestPauseMinutes } from '../../src/schedules/calendar/cron.js';
import { isTimeZone } from '../../src/schedules/calendar/zone.js';
import { nextRun, type TimingFields } from '../../src/schedules/schedule.js';
import type { Target } from '../../src/schedules/start-turn.js';
import { refuseChild } from '../../src/sessions/child-session.js';
import { findSession, type Session } from '../../src/sessions/store.js';
import { checkNewSession, type NewSessionBody } from '../../src/agents/new-session.js';
import type { ApiDeps } from '../deps.js';
import type { Caller } from '../http/core/operation.js';

interface TimingBody {
  cron?: string;
  at?: string;
  timezone?: string;
  end_at?: string | null;
}

/**
 * The timing that a body asks for, where `before` is what the schedule has.
 * @throws ServiceError `validation_error`
 */
export function timingOfBody(body: TimingBody, before: TimingFields): TimingFields {
  if (body.cron !== undefined && body.at !== undefined) throw validationError('/at', 'must not be sent with cron');
  const timezone = body.timezone ?? before.timezone;
  if (!isTimeZone(timezone)) {
    throw validationError('/timezone', 'must be a name of the IANA time zone database, such as Europe/Berlin');
  }
  const isReplaced = body.cron !== undefined || body.at !== undefined;
  return {
    cron: isReplaced ? (body.cron ?? null) : before.cron,
    at: isReplaced ? seconds('/at', body.at ?? null) : before.at,
    timezone,
    end_at: body.end_at === undefined ? before.end_at : seconds('/end_at', body.end_at),
  };
}

/** A timestamp in UTC, cut to the second. */
function seconds(path: string, text: string | null): string | null {
  if (text === null) return null;
  const utc = utcTimestamp(text);
  if (utc === null)
    throw validationError(path, 'must be a timestamp with an offset, such as 2026-12-24T08:00:00+01:00');
  return `${utc.slice(0, 19)}.000000Z`;
}

/**
 * The next time of a timing.
 * @throws ServiceError `validation_error` if there is none
 */
export function requireNextRun(timing: TimingFields, after: number): string {
  try {
    const next = nextRun(timing, after);
    if (next !== null) return next;
    const unbounded = nextRun({ ...timing, end_at: null }, after);
    if (unbounded !== null) throw validationError('/end_at', `must not be before the next time, ${unbounded}`);
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    throw validationError('/cron', error.message);
  }
  if (timing.cron === null) throw validationError('/at', 'must be in the future');
  throw validationError('/cron', 'never fires: no day matches it');
}

/**
 * Operators may set how often a schedule runs at most. Schedules that exist keep their times.
 * @throws ServiceError `validation_error`
 */
export function requirePeriod(cron: string, minSeconds: number): void {
  if (shortestPauseMinutes(parseCron(cron)) * 60 >= minSeconds) return;
  throw validationError('/cron', `must leave at least ${minSeconds / 60} minutes between two times`);
}

/** The body of a target after its schema: which fields it has is still open. */
interface TargetBody {
  type: 'new_session' | 'existing_session';
  session?: NewSessionBody;
  session_id?: string;
}

/**
 * Checks a target as POST sessions would.
 * @throws ServiceError `validation_error`, `insufficient_scope`
 */
export async function checkTarget(caller: Pick<Caller, 'projectId' | 'scopes'>, body: TargetBody): Promise<Target> {
  const { type, session, session_id } = body;
  const [wanted, other] =
    type === 'new_session' ? (['session', 'session_id'] as const) : (['session_id', 'session'] as const);
  if (!(wanted in body)) throw validationError(`/target/${wanted}`, `is required with ${type}`);
  if (other in body) throw validationError(`/target/${other}`, `must not be sent with ${type}`);
  if (type === 'existing_session') return { type, session_id: session_id! };
  return { type, session: await inside('/target/session', () => checkNewSession(caller, session!)) };
}

export async function checkScheduledMessage(
  deps: Pick<ApiDeps, 'schemaChecks'>,
  caller: Pick<Caller, 'projectId' | 'scopes'>,
  message: MessageBody,
): Promise<void> {
  await inside('/message', () => checkMessage(deps, caller, message));
}

/** Paths of errors begin at `root`, the part of the body that the work checks. */
export async function inside<T>(root: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.type !== 'validation_error') throw error;
    const [{ path, message }] = error.details!.errors as [{ path: string; message: string }];
    throw validationError(root + path, message);
  }
}

/**
 * The part of a target's session that a message is checked against; null if the session is gone.
 * @throws ServiceError `child_session`: its messages come from the agent that has called it
 */
export async function sessionOfTarget(
  db: Db,
  projectId: string,
  target: Target,
): Promise<Pick<Session, 'budget'> | null> {
  if (target.type === 'new_session') return target.session;
  const session = await findSession(db, projectId, target.session_id);
  if (session !== null) refuseChild(session);
  return session;
}
