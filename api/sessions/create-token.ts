import type { FromSchema } from 'json-schema-to-ts';
import { transaction } from '../../src/db/transaction.js';
import { described, objectSchema } from '../../src/platform/object-schema.js';
import { groupsField, requireGroups } from '../../src/projects/approver-groups.js';
import { requireScope, TOKEN_SCOPE_NAMES, TOKEN_SCOPES } from '../../src/projects/permissions.js';
import { refuseChild } from '../../src/sessions/child-session.js';
import type { SessionState } from '../../src/sessions/store.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { openSessionOfPath } from '../http/core/session-of-path.js';
import { actor, presentToken, scopes, tokenSchema } from './session-token.js';

const MIN_SECONDS = 60;
const MAX_SECONDS = 3600;
const DEFAULT_SECONDS = 900;

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

/** Makes a session token (docs/decisions.md "Session tokens"). Nothing is stored of it, so it works whatever the session does. */
export const createSessionToken = operation<Body, SessionState & { family_id: string }>({
  id: 'createSessionToken',
  summary: 'Make a token with which a page uses one session',
  description:
    'Your back end makes the token and gives it to a browser, which then calls the service itself, for this session only. Your key stays secret. The token ends at `expires_at`, with the key that made it, and with the session.',
  body,
  success: { status: 201, description: 'The token.', schema: tokenSchema },
  errors: ['session_not_found', 'not_an_approver', 'child_session'],
  resource: openSessionOfPath,
  check({ caller, body }) {
    const named = TOKEN_SCOPE_NAMES.filter((name) => body.scopes.includes(name));
    for (const permission of named.flatMap((name) => TOKEN_SCOPES[name])) requireScope(caller, permission);
    requireGroups(caller.approverGroups, body.approver_groups ?? []);
  },
  async handle({ deps, caller, resource: session, body, record }) {
    refuseChild(session);
    const { scopes, actor, expires_in, approver_groups } = body;
    const keyEndsAt = caller.expiresAt === null ? Infinity : Date.parse(caller.expiresAt);
    const expiresAt = Math.min(Date.now() + expires_in * 1000, keyEndsAt);
    const groups = new Set(approver_groups);
    // Nothing is stored of a token, so the entry has a transaction of its own.
    if (groups.size > 0) await transaction(deps.db, (tx) => record(tx));
    const token = { keyId: caller.keyId, sessionId: session.id, familyId: session.family_id, approverGroups: groups };
    return presentToken(deps, { ...token, scopes: new Set(scopes), actor, expiresAt }, approver_groups);
  },
});
