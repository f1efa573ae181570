import type { FromSchema } from 'json-schema-to-ts';
import { transaction } from '../../src/db/transaction.js';
import { described, objectSchema } from '../../src/platform/object-schema.js';
import { idField, text, timestamp } from '../../src/platform/schema-fields.js';
import { isoIn } from '../../src/platform/timestamps.js';
import { requireGroups } from '../../src/projects/approver-groups.js';
import { requireScope, TOKEN_SCOPE_NAMES, TOKEN_SCOPES } from '../../src/projects/permissions.js';
import type { SessionState } from '../../src/sessions/store.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { groupsField } from '../keys/present.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';

const MIN_SECONDS = 60;
const MAX_SECONDS = 3600;
const DEFAULT_SECONDS = 900;

const scope = {
  $id: 'TokenScope',
  type: 'string',
  enum: TOKEN_SCOPE_NAMES,
  description:
    'What the token may do in its session. `read`: read it and its stream; `send`: send messages and change the queue; `cancel`: cancel the turn; `answer`: answer what a turn waits for; `files`: upload, attach and read files.',
} as const;
const scopes = {
  type: 'array',
  minItems: 1,
  maxItems: TOKEN_SCOPE_NAMES.length,
  uniqueItems: true,
  items: scope,
} as const;
const actor = { type: ['string', 'null'], minLength: 1, maxLength: 128 } as const;

const body = {
  $id: 'NewSessionToken',
  description: 'A token for a page that shows one session.',
  ...objectSchema(
    { scopes: described(scopes, 'What the token may do. Your key needs the permissions for it.') },
    {
      expires_in: {
        type: 'integer',
        minimum: MIN_SECONDS,
        maximum: MAX_SECONDS,
        default: DEFAULT_SECONDS,
        description:
          'How many seconds it lives. A single token cannot be revoked: keep it short, and make another one.',
      },
      actor: { ...actor, default: null, description: 'Who uses the page: stored in the answers that the token sends.' },
      approver_groups: {
        ...groupsField,
        description: 'The groups in which the token approves calls: at most those of your key. Without it: none.',
      },
    },
  ),
  examples: [{ scopes: ['read', 'send', 'cancel', 'answer'], expires_in: 900, actor: 'jane@example.com' }],
} as const satisfies JsonSchema;

type Body = FromSchema<typeof body>;

const tokenSchema = {
  $id: 'SessionToken',
  description: 'A token for a page that shows one session.',
  ...objectSchema(
    {
      token: described(text, 'Send it as `Authorization: Bearer sst_…`, as a key. It is shown only here.'),
      session_id: idField('session', 'The session for which it is valid.'),
      scopes: described(scopes, 'What it may do, as given.'),
      actor: { ...actor, description: 'As given; null without.' },
      expires_at: described(
        timestamp,
        'When it ends: after `expires_in` seconds, or earlier with the key that made it.',
      ),
    },
    {
      approver_groups: {
        ...groupsField,
        description: 'The groups in which it approves calls, as given; absent without.',
      },
    },
  ),
  examples: [
    {
      token: 'sst_WyJrZXlfMDFrYWc4…',
      session_id: 'ses_01kag8y7m3w9s1p4x2c5v6b7n8',
      scopes: ['read', 'send', 'cancel', 'answer'],
      actor: 'jane@example.com',
      expires_at: '2026-11-21T10:03:03.123000Z',
    },
  ],
} as const satisfies JsonSchema;

/** Makes a session token (docs/decisions.md "Session tokens"). It is not stored, so it works whatever the session does. */
export const createSessionToken = operation<Body, SessionState>({
  id: 'createSessionToken',
  summary: 'Make a token with which a page uses one session',
  description:
    'Your back end makes the token and gives it to a browser, which then calls the service itself, for this session only. Your key stays secret. The token ends at `expires_at`, with the key that made it, and with the session.',
  body,
  success: { status: 201, description: 'The token.', schema: tokenSchema },
  errors: ['session_not_found', 'not_an_approver'],
  resource: sessionStateOfPath,
  check({ caller, body }) {
    const named = TOKEN_SCOPE_NAMES.filter((name) => body.scopes.includes(name));
    for (const permission of named.flatMap((name) => TOKEN_SCOPES[name])) requireScope(caller, permission);
    requireGroups(caller.approverGroups, body.approver_groups ?? []);
  },
  async handle({ deps, caller, resource: session, body, record }) {
    const { scopes, actor, expires_in, approver_groups } = body;
    const keyEndsAt = caller.expiresAt === null ? Infinity : Date.parse(caller.expiresAt);
    const expiresAt = Math.min(Date.now() + expires_in * 1000, keyEndsAt);
    const token = { keyId: caller.keyId, sessionId: session.id, scopes: new Set(scopes), actor, expiresAt };
    const groups = new Set(approver_groups);
    // Nothing is stored of a token, so the entry has a transaction of its own.
    if (groups.size > 0) await transaction(deps.db, (tx) => record(tx));
    return {
      token: deps.sessionTokens.sign({ ...token, approverGroups: groups }),
      session_id: session.id,
      scopes,
      actor,
      expires_at: isoIn(expiresAt - Date.now()),
      ...(approver_groups !== undefined && { approver_groups }),
    };
  },
});
