import { objectSchema, shownAs } from '../../../src/platform/object-schema.js';
import { USER_PATTERN } from '../../../src/agents/new-session.js';
import type { JsonSchema } from '../../http/core/operation.js';
import { secretFields } from '../fields.js';

const { token, name, value } = secretFields;

export const userField = {
  type: 'string',
  pattern: USER_PATTERN,
  description: 'The person, as your back end names them: the `user` of their sessions.',
} as const satisfies JsonSchema;

/** src/mcp/auth checks which fields a type takes and which values a header can carry. */
export const credentialAuthField = shownAs(
  {
    type: 'object',
    properties: { type: { type: 'string', enum: ['BEARER', 'HEADER', 'OAUTH'] }, token, name, value },
    required: ['type'],
    additionalProperties: false,
  },
  {
    $id: 'NewCredentialAuth',
    description: 'What proves who the user is. It is never shown again.',
    type: 'object',
    required: ['type'],
    discriminator: { propertyName: 'type' },
    oneOf: [
      {
        $id: 'BearerCredentialAuth',
        description: 'A token of the user.',
        ...objectSchema({ type: { const: 'BEARER' }, token }),
      },
      {
        $id: 'HeaderCredentialAuth',
        description: 'A header of the user’s own, such as `X-Api-Key`.',
        ...objectSchema({ type: { const: 'HEADER' }, name, value }),
      },
      {
        $id: 'OAuthCredentialAuth',
        description:
          'The user authorizes the service in a browser, with the client and the scopes of the server, whose own auth is OAUTH.',
        ...objectSchema({ type: { const: 'OAUTH' } }),
      },
    ],
  },
) satisfies JsonSchema;
