import type { FromSchema } from 'json-schema-to-ts';
import { transaction, type Db } from '../../src/db/transaction.js';
import { validationError } from '../../src/platform/errors.js';
import { eventJson } from '../../src/events/store.js';
import { fileNotFound, findFiles } from '../../src/files/store.js';
import type { FileSnapshot, SkillSnapshot } from '../../src/events/fields.js';
import { requireScope } from '../../src/projects/permissions.js';
import type { Session } from '../../src/sessions/store.js';
import { findSkills, skillNotFound } from '../../src/skills/store.js';
import { queueTurn, type QueuedTurn } from '../../src/turns/queue.js';
import type { ApiDeps } from '../deps.js';
import { userMessageSchema } from '../../src/events/schema.js';
import { operation, type Call, type JsonSchema } from '../http/core/operation.js';
import { sessionOfPath } from '../http/core/session-of-path.js';

const body = {
  type: 'object',
  properties: {
    content: { type: 'string', minLength: 1, maxLength: 100_000, pattern: '\\S' },
    files: { type: 'array', items: { type: 'string' }, maxItems: 20, uniqueItems: true, default: [] },
    skills: {
      type: 'array',
      maxItems: 20,
      default: [],
      items: {
        anyOf: [
          { type: 'string' },
          { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false },
          {
            type: 'object',
            properties: { skill_id: { type: 'string' } },
            required: ['skill_id'],
            additionalProperties: false,
          },
        ],
      },
    },
  },
  required: ['content'],
  additionalProperties: false,
} as const satisfies JsonSchema;

type Body = FromSchema<typeof body>;

/** Sends a message, which starts a turn. Responds as soon as the turn is queued. */
export const sendMessage = operation<Body, Session>({
  id: 'sendMessage',
  summary: 'Send a message; it starts a turn',
  body,
  idempotent: true,
  success: { status: 201, description: 'The user.message event; its turn_id is the turn.', schema: userMessageSchema },
  errors: [
    'session_not_found',
    'insufficient_scope',
    'file_not_found',
    'skill_not_found',
    'session_running',
    'too_many_running_turns',
  ],
  resource: sessionOfPath,
  check({ caller, body }) {
    const skillIds = skillIdsOf(body.skills);
    if (body.files.length > 0) requireScope(caller, 'files:read');
    if (skillIds.length > 0) requireScope(caller, 'skills:read');
  },
  async handle(call) {
    const { deps, caller, body, resource: session } = call;
    const skillIds = skillIdsOf(body.skills);
    const files = await attachedFiles(deps, caller.projectId, body.files);
    const skills = await selectedSkills(deps, caller.projectId, skillIds);

    const queue = async (db: Db): Promise<QueuedTurn> => {
      const message = { content: body.content, files, skills };
      const turn = await queueTurn(db, caller.projectId, session.id, message, deps.workflows.namespace);
      await call.record(db, present(turn));
      return turn;
    };
    // Queueing is a single atomic statement. With an idempotency record there are two, which need a transaction.
    const turn = call.hasKey ? await transaction(deps.db, queue) : await queue(deps.db);
    launch(call, { ...turn, may_wait: session.tools !== '[]' });
    return present(turn);
  },
});

function present({ event }: QueuedTurn): unknown {
  return JSON.parse(eventJson(event));
}

/** Runs after the transaction, without waiting. If the workflow does not start now, the reconciler starts it. */
function launch({ deps, log }: Pick<Call, 'deps' | 'log'>, turn: QueuedTurn & { may_wait: boolean }): void {
  deps.notifier.notify(turn);
  log.info({ turn_id: turn.id, session_id: turn.session_id }, 'turn queued');
  deps.workflows
    .start(turn)
    .catch((err: unknown) =>
      log.warn({ err, turn_id: turn.id }, 'a turn could not be started yet, the reconciler follows'),
    );
}

function skillIdsOf(skills: Body['skills']): string[] {
  const ids = skills.map((skill) => (typeof skill === 'string' ? skill : 'id' in skill ? skill.id : skill.skill_id));
  const repeated = ids.findIndex((id, index) => ids.indexOf(id) !== index);
  if (repeated >= 0) throw validationError(`/skills/${repeated}`, 'names a skill that the message selects already');
  return ids;
}

async function attachedFiles({ db }: ApiDeps, projectId: string, ids: string[]): Promise<FileSnapshot[]> {
  const found = new Map((await findFiles(db, projectId, ids)).map((file) => [file.id, file]));
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length > 0) throw fileNotFound(missing);
  return ids.map((id) => {
    const { filename, mime_type, size_bytes } = found.get(id)!;
    return { id, filename, mime_type, size_bytes };
  });
}

async function selectedSkills({ db }: ApiDeps, projectId: string, ids: string[]): Promise<SkillSnapshot[]> {
  const found = new Map((await findSkills(db, projectId, ids)).map((skill) => [skill.id, skill]));
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length > 0) throw skillNotFound(missing);
  return ids.map((id) => {
    const { name, description } = found.get(id)!;
    return { id, name, description };
  });
}
