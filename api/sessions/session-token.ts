import { described, objectSchema } from '../../src/platform/object-schema.js';
import { idField, text, timestamp } from '../../src/platform/schema-fields.js';
import { isoOf } from '../../src/platform/timestamps.js';
import { groupsField } from '../../src/projects/approver-groups.js';
import { TOKEN_SCOPE_NAMES } from '../../src/projects/permissions.js';
import type { SessionToken } from '../../src/projects/session-token.js';
import type { ApiDeps } from '../deps.js';
import type { JsonSchema } from '../http/core/operation.js';

const scope = {
  $id: 'TokenScope',
  type: 'string',
  enum: TOKEN_SCOPE_NAMES,
  description:
    'What the token may do in its session. `read`: read it and its stream; `send`: send messages and change the queue; `cancel`: cancel the turn; `answer`: answer what a turn waits for; `files`: upload, attach and read files; `workspace`: read the files of its workspace; `fork`: copy it.',
} as const;
export const scopes = {
  type: 'array',
  minItems: 1,
  maxItems: TOKEN_SCOPE_NAMES.length,
  uniqueItems: true,
  items: scope,
} as const;
export const actor = { type: ['string', 'null'], minLength: 1, maxLength: 128 } as const;

export const tokenSchema = {
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

/**
 * Signs a token. The answer is the only place that shows it.
 * @param groups as they are shown; absent: those that it has, if any
 */
export function presentToken(
  { sessionTokens }: Pick<ApiDeps, 'sessionTokens'>,
  token: SessionToken,
  groups: readonly string[] | undefined = token.approverGroups.size > 0 ? [...token.approverGroups] : undefined,
): object {
  return {
    token: sessionTokens.sign(token),
    session_id: token.sessionId,
    scopes: [...token.scopes],
    actor: token.actor,
    expires_at: isoOf(token.expiresAt * 1000),
    ...(groups !== undefined && { approver_groups: groups }),
  };
}
