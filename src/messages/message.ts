import type { Db } from '../db/db.js';
import { described, objectSchema } from '../platform/object-schema.js';
import type { FromSchema } from 'json-schema-to-ts';
import { FileEntity } from '../db/entities/files.js';
import { SkillEntity } from '../db/entities/skills.js';
import { requireResources } from '../db/resources.js';
import type { FileSnapshot, SkillSnapshot } from '../events/fields.js';
import type { EventData } from '../events/schema.js';
import { fileNotFound, filesOfTokens } from '../files/store.js';
import type { ModelCatalogue } from '../models/catalogue.js';
import { checkOutputSchema } from '../outputs/check-output-schema.js';
import type { SchemaChecks } from '../outputs/schema-checks.js';
import { validationError } from '../platform/errors.js';
import { refuseToken, requireScope, requireTokenScope } from '../projects/permissions.js';
import type { SessionToken } from '../projects/session-token.js';
import { requirePrice } from '../sessions/budget.js';
import { requireModel } from '../sessions/configuration.js';
import { skillNotFound } from '../skills/store.js';

/** A message whose ids are checked, as its `user.message` shows it. */
export type Message = Omit<EventData['user.message'], 'delivered_at_step'>;

const skillId = described({ type: 'string' }, 'Id of the skill.');

/** The body of POST messages, without what happens while a turn is open. */
export const messageBody = {
  $id: 'ScheduleMessage',
  description: 'A message to the agent.',
  type: 'object',
  properties: {
    content: {
      type: 'string',
      minLength: 1,
      maxLength: 100_000,
      pattern: '\\S',
      description: 'The text of the message.',
    },
    files: {
      type: 'array',
      items: { type: 'string' },
      maxItems: 20,
      uniqueItems: true,
      default: [],
      description: 'Ids of files to attach.',
    },
    skills: {
      type: 'array',
      maxItems: 20,
      default: [],
      description: 'Skills that the agent should use in this turn.',
      items: {
        $id: 'SkillSelection',
        description: 'A skill: its id, alone or in an object.',
        anyOf: [
          { $id: 'SkillId', description: 'Id of a skill.', type: 'string' },
          { $id: 'SkillById', description: 'A skill.', ...objectSchema({ id: skillId }) },
          { $id: 'SkillBySkillId', description: 'A skill.', ...objectSchema({ skill_id: skillId }) },
        ],
      },
    },
    model_id: {
      type: 'string',
      description: 'The model of this turn, if it differs from the session’s: an id of GET /v1/models.',
    },
    thinking_enabled: { type: 'boolean', description: 'Thinking in this turn, if it differs from the session’s.' },
    output_schema: {
      $id: 'OutputSchema',
      type: 'object',
      description:
        'JSON Schema (2020-12, or draft 7 by `$schema`) of the value that the turn must end with; at most 32 KiB as compact JSON. `format` is not checked.',
      properties: { type: { const: 'object' } },
      required: ['type'],
      additionalProperties: true,
    },
  },
  required: ['content'],
  additionalProperties: false,
} as const;

export type MessageBody = FromSchema<typeof messageBody>;

/**
 * Checks what needs no database: the schema of the output, that no skill is selected twice, and the permissions for what the
 * body names.
 * @throws ServiceError `validation_error`, `insufficient_scope`
 */
export async function checkMessage(
  { schemaChecks }: { schemaChecks: SchemaChecks },
  caller: { projectId: string; scopes: ReadonlySet<string> },
  body: MessageBody,
): Promise<void> {
  const skillIds = skillIdsOf(body.skills);
  if (body.output_schema !== undefined) await checkOutputSchema(schemaChecks, caller.projectId, body.output_schema);
  if (body.files.length > 0) requireScope(caller, 'files:read');
  if (skillIds.length > 0) requireScope(caller, 'skills:read');
}

/** What a page may not decide: its back end configures the session (docs/decisions.md "Session tokens"). */
const REFUSED_OF_TOKENS = ['model_id', 'thinking_enabled', 'output_schema'] as const;

/** As `checkMessage`, for a message that is sent with a session token. @throws ServiceError `insufficient_scope` */
export function checkTokenMessage(token: Pick<SessionToken, 'scopes'>, body: MessageBody): void {
  if (REFUSED_OF_TOKENS.some((field) => body[field] !== undefined)) refuseToken('sessions:write');
  if (body.skills.length > 0) refuseToken('skills:read');
  if (body.files.length > 0) requireTokenScope(token, 'files');
}

/**
 * The message with its files and skills as they are now. `session`: null if it is not known yet. `tokenSessionId`: the session
 * with whose token it is sent, which may attach the files of this session only; null for a key.
 * @throws ServiceError `unknown_model`, `validation_error`, `file_not_found`, `skill_not_found`
 */
export async function resolveMessage(
  { db, models }: { db: Db; models: ModelCatalogue },
  projectId: string,
  body: MessageBody,
  session: { budget: object | null } | null,
  tokenSessionId: string | null = null,
): Promise<Message> {
  const { content, model_id, thinking_enabled, output_schema } = body;
  if (model_id !== undefined) requireModel(models, model_id);
  if (model_id !== undefined && session?.budget != null) requirePrice(models, model_id, '/model_id');
  const files = await attachedFiles(db, projectId, body.files, tokenSessionId);
  const skills = await selectedSkills(db, projectId, skillIdsOf(body.skills));
  return {
    content,
    files,
    skills,
    ...(model_id !== undefined && { model_id }),
    ...(thinking_enabled !== undefined && { thinking_enabled }),
    ...(output_schema !== undefined && { output_schema }),
  };
}

function skillIdsOf(skills: MessageBody['skills']): string[] {
  const ids = skills.map((skill) => (typeof skill === 'string' ? skill : 'id' in skill ? skill.id : skill.skill_id));
  const repeated = ids.findIndex((id, index) => ids.indexOf(id) !== index);
  if (repeated >= 0) throw validationError(`/skills/${repeated}`, 'names a skill that the message selects already');
  return ids;
}

async function attachedFiles(
  db: Db,
  projectId: string,
  ids: string[],
  tokenSessionId: string | null,
): Promise<FileSnapshot[]> {
  const isVisible = tokenSessionId === null ? undefined : await filesOfTokens(db, tokenSessionId, ids);
  const files = await requireResources(db, FileEntity, projectId, ids, fileNotFound, isVisible);
  return files.map(({ id, filename, mime_type, size_bytes }) => ({ id, filename, mime_type, size_bytes }));
}

async function selectedSkills(db: Db, projectId: string, ids: string[]): Promise<SkillSnapshot[]> {
  const skills = await requireResources(db, SkillEntity, projectId, ids, skillNotFound);
  return skills.map(({ id, name, description }) => ({ id, name, description }));
}
