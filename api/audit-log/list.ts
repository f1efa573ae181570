import { listEntries, type AuditFilter } from '../../src/audit/list.js';
import { validationError } from '../../src/platform/errors.js';
import { anyObject, idField, idOrNull, text, timestamp } from '../../src/platform/schema-fields.js';
import { described, objectSchema, orNull } from '../../src/platform/object-schema.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { filteredList, newestPage, pageSchema } from '../http/core/page.js';
import { presented } from '../http/core/presenter.js';
import { timeOfQuery } from '../http/core/validate.js';

const outcome = {
  $id: 'AuditOutcome',
  type: 'string',
  enum: ['ok', 'refused'],
  description: '`ok`: the change was made. `refused`: the key may not make it (403).',
} as const;

const source = {
  $id: 'AuditSource',
  type: 'string',
  enum: ['key', 'token', 'command'],
  description:
    '`key`: a request with a key. `token`: with a session token that the key made. `command`: a command of an operator.',
} as const;

const resource = {
  $id: 'AuditResource',
  description: 'What the change was about.',
  ...objectSchema({
    type: described(text, 'Its type, such as `mcp_server`.'),
    id: described(text, 'Its id. The resource may be deleted since.'),
  }),
} as const;

const entry = presented(
  'AuditEntry',
  'Who changed what, or was refused to.',
  {
    id: idField('auditEntry', 'Id of the entry.'),
    created_at: described(timestamp, 'When the change was made.'),
    action: described(
      text,
      'The operationId; of commands `createKey`, `revokeKey`, `expireKey`, `limitProject`, `forgetUsage`.',
    ),
    outcome,
    source,
    key_id: idOrNull('apiKey', 'Id of the key; null for a command.'),
    key_name: { type: ['string', 'null'], description: 'Its name at that time.' },
    actor: {
      type: ['string', 'null'],
      description: 'The person for whom the back end acted: of the answer, of the token or of `X-Actor`; null without.',
    },
    resource: orNull(resource, 'What the change was about; null if it was no single resource.'),
    session_id: idOrNull('session', 'The session, for operations on one; else null.'),
    details: described(
      anyObject,
      'Of a PATCH `fields`, the names in the body; of a decision `type`, `tool_use_id` and `result`; of keys `scopes` and `approver_groups`; of a refusal what was missing, in `required`, `approvers` or `approver_groups`, and `more` in the last one that is written of an hour.',
    ),
    request_id: { type: ['string', 'null'], description: 'The X-Request-Id of the request; null for a command.' },
  },
  {
    id: 'aud_01kag8z9g3h4j5k6m7n8p9q0r1',
    created_at: '2026-11-21T09:48:31.000001Z',
    action: 'sendAnswers',
    outcome: 'ok',
    source: 'token',
    key_id: 'key_01kag8q2w3e4r5t6y7u8i9o0p1',
    key_name: 'finance desk',
    actor: 'jane@example.com',
    resource: { type: 'session', id: 'ses_01kag8y7m3w9s1p4x2c5v6b7n8' },
    session_id: 'ses_01kag8y7m3w9s1p4x2c5v6b7n8',
    details: { type: 'user.tool_confirmation', tool_use_id: 'toolu_01A09q90qw90lq917835lq9', result: 'allow' },
    request_id: 'req_01kag8z9f0e1d2c3b4a5968778',
  },
);

const query = {
  type: 'object',
  properties: {
    from: { type: 'string', format: 'date-time', description: 'Only entries from this time on.' },
    to: { type: 'string', format: 'date-time', description: 'Only entries before this time.' },
    action: { type: 'string', maxLength: 128, description: 'Only entries of this operation or command.' },
    key_id: { type: 'string', maxLength: 128, description: 'Only entries of this key, and of its session tokens.' },
    actor: { type: 'string', maxLength: 128, description: 'Only entries of this person.' },
    resource_id: { type: 'string', maxLength: 128, description: 'Only entries about this resource.' },
    outcome: described(outcome, 'Only entries with this outcome.'),
  },
} as const satisfies JsonSchema;

export const listAuditEntries = operation({
  id: 'listAuditEntries',
  summary: 'List what was changed in the project and who did it, newest first',
  description:
    'Shows each change of the project’s resources, each decision about a call, and what keys were refused. No operation changes or deletes an entry. All filters must match.',
  paged: true,
  query,
  success: { status: 200, description: 'A page of entries.', schema: pageSchema(entry.schema) },
  errors: [],
  async handle({ deps, caller, query }) {
    const { action, key_id, actor, resource_id, outcome } = query;
    const [from, to] = [timeOfQuery(query, 'from'), timeOfQuery(query, 'to')];
    if (from !== undefined && to !== undefined && from > to)
      throw validationError('/query/from', 'must not be after /query/to');
    const filter: AuditFilter = { from, to, action, key_id, actor, resource_id, outcome };
    return newestPage(
      query,
      filteredList('audit log', filter),
      (page) => listEntries(deps.db, caller.projectId, filter, page),
      (row) => entry.present({ ...row }),
    );
  },
});
