import type { FromSchema } from 'json-schema-to-ts';
import { discardWaiting } from '../../src/erasures/erase.js';
import { beginErasure, type RunningErasure } from '../../src/erasures/store.js';
import { objectSchema } from '../../src/platform/object-schema.js';
import { USER_PATTERN } from '../../src/agents/new-session.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { erasureSchema, presentErasure } from './present.js';

const body = {
  $id: 'NewErasure',
  description: 'Whom to erase.',
  ...objectSchema(
    {
      user: { type: 'string', pattern: USER_PATTERN, description: 'The person: the `user` of their sessions.' },
    },
    {
      attached_files: {
        type: 'boolean',
        default: false,
        description: 'Also the files that messages of these sessions attached, whoever else names them.',
      },
    },
  ),
  examples: [{ user: 'jane@example.com', attached_files: true }],
} as const satisfies JsonSchema;

export const createErasure = operation<FromSchema<typeof body>>({
  id: 'createErasure',
  summary: 'Erase a person',
  description:
    'Deletes everything that the project stores of this user: schedules, sessions with their files, credentials, memories, and their metadata in usage. It goes on by itself until it is done. From the answer on these sessions take no message. Erasures of a project run one after another.',
  body,
  success: { status: 202, description: 'The erasure, which has begun.', schema: erasureSchema },
  repeated: { status: 200, description: 'The erasure of this user that is not done yet.', schema: erasureSchema },
  errors: [],
  async handle({ deps, caller, body, log, ctx, record }) {
    const { user, attached_files } = body;
    const { erasure, isNew } = await beginErasure(deps.db, caller.projectId, user, attached_files, (tx, begun) =>
      record(tx, presentErasure(begun)),
    );
    ctx.state.isRepeat = !isNew;
    if (erasure.finished_at === null) {
      while ((await discardWaiting(deps.db, erasure as RunningErasure)) === 'more');
      // Not waited for: the reconciler starts it again.
      deps.erasures
        .start(erasure)
        .catch((err: unknown) =>
          log.warn({ err, erasure_id: erasure.id }, 'an erasure could not be started yet; the reconciler tries again'),
        );
    }
    return presentErasure(erasure);
  },
});
