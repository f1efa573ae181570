import type { FromSchema } from 'json-schema-to-ts';
import type { Db, Tx } from '../../src/db/db.js';
import { runSql, sql } from '../../src/db/sql.js';
import { resolveMessage } from '../../src/messages/message.js';
import { described } from '../../src/platform/object-schema.js';
import { validationError } from '../../src/platform/errors.js';
import type { Schedule, TimingFields } from '../../src/schedules/schedule.js';
import type { Target } from '../../src/schedules/start-turn.js';
import { insertSchedule } from '../../src/schedules/store.js';
import { resolveNewSession } from '../../src/agents/new-session.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation, type Call, type JsonSchema } from '../http/core/operation.js';
import { sessionNotFound } from '../http/core/session-of-path.js';
import {
  checkScheduledMessage,
  checkTarget,
  inside,
  requireNextRun,
  requirePeriod,
  sessionOfTarget,
  timingOfBody,
} from './check.js';
import * as fields from './fields.js';
import { presentSchedule, scheduleSchema } from './present.js';

const body = {
  $id: 'NewSchedule',
  description: 'A message, and when and where it is sent.',
  type: 'object',
  properties: {
    name: { ...fields.nameField, default: null },
    cron: fields.cronField,
    at: fields.atField,
    timezone: { ...fields.timezoneField, default: 'UTC' },
    target: fields.targetField,
    message: fields.messageField,
    overlap: { ...described(fields.overlapField, fields.overlapField.description), default: 'skip' },
    end_at: { ...fields.endAtField, default: null },
  },
  required: ['target', 'message'],
  additionalProperties: false,
  examples: [
    {
      name: 'Daily report',
      cron: '0 8 * * MON-FRI',
      timezone: 'Europe/Berlin',
      target: { type: 'new_session', session: { model_id: 'claude-sonnet-5-5' } },
      message: { content: 'Which orders are late?' },
    },
  ],
} as const satisfies JsonSchema;

type Body = FromSchema<typeof body>;

const NO_TIMING = { cron: null, at: null, timezone: 'UTC', end_at: null };

export const createSchedule = operation<Body>({
  id: 'createSchedule',
  summary: 'Create a schedule: it sends a message at given times',
  description:
    'Sends a message by the clock: to a new session each time, or to the same one. Give either `cron` or `at`.',
  body,
  maxBodyValues: fields.MAX_SCHEDULE_VALUES,
  idempotent: true,
  success: { status: 201, description: 'The schedule, active.', schema: scheduleSchema },
  errors: [
    'insufficient_scope',
    'session_not_found',
    'agent_not_found',
    'agent_version_not_found',
    'child_session',
    'unknown_model',
    'workspace_unavailable',
    'mcp_server_not_found',
    'unknown_mcp_tool',
    'file_not_found',
    'skill_not_found',
    'schedule_limit_reached',
  ],
  async check({ deps, caller, body }) {
    if (body.cron === undefined && body.at === undefined) throw validationError('/cron', 'or /at is required');
    timingOfBody(body, NO_TIMING);
    await checkTarget(caller, body.target);
    await checkScheduledMessage(deps, caller, body.message);
  },
  async handle(call) {
    const { deps, caller, body } = call;
    const timing = timingOfBody(body, NO_TIMING);
    const next_run_at = requireNextRun(timing, await readClock(deps.db));
    if (timing.cron !== null) requirePeriod(timing.cron, deps.config.scheduleMinPeriodSeconds);
    const target = await resolveTarget(call);
    const session = await sessionOfTarget(deps.db, caller.projectId, target);
    await inside('/message', () => resolveMessage(deps, caller.projectId, body.message, session));
    const answer = await answerInTransaction(call, async (tx) =>
      presentSchedule(await insert(tx, call, { target, timing, next_run_at })),
    );
    deps.schedules.sync(answer.id as string);
    return answer;
  },
});

/** @throws ServiceError as POST sessions, or `session_not_found` */
async function resolveTarget({ deps, caller, body }: Call<Body>): Promise<Target> {
  const target = await checkTarget(caller, body.target);
  if (target.type === 'new_session') {
    await inside('/target/session', () => resolveNewSession(deps, caller.projectId, target.session));
  }
  return target;
}

async function insert(
  tx: Tx,
  { caller, body }: Call<Body>,
  { target, timing, next_run_at }: { target: Target; timing: TimingFields; next_run_at: string },
): Promise<Schedule> {
  const session_id = target.type === 'existing_session' ? target.session_id : null;
  if (session_id !== null) await lockSession(tx, caller.projectId, session_id);
  return insertSchedule(tx, caller, {
    ...timing,
    name: body.name,
    target: JSON.stringify(target),
    session_id,
    message: JSON.stringify(body.message),
    overlap: body.overlap,
    next_run_at,
  });
}

/** Postgres' clock, in milliseconds: the one that decides when schedules are due. */
async function readClock(db: Db): Promise<number> {
  const [row] = await runSql<{ now: string }>(db, sql`SELECT clock_timestamp() AS now`);
  return Date.parse(row!.now);
}

/** The session stays until the schedule is stored, which its deletion would pause. */
async function lockSession(tx: Db, projectId: string, id: string): Promise<void> {
  const found = await runSql(
    tx,
    sql`SELECT FROM sessions WHERE id = ${id} AND project_id = ${projectId} AND deleted_at IS NULL FOR SHARE`,
  );
  if (found.length === 0) sessionNotFound();
}
