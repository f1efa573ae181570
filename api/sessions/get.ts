import { operation } from '../http/core/operation.js';
import { presentSessionTo, sessionSchema } from './present.js';
import { sessionOfPath } from '../http/core/session-of-path.js';

export const getSession = operation({
  id: 'getSession',
  summary: 'Get a session',
  description:
    'Shows the configuration and the current state: status, what the turn waits for, waiting messages and cost.',
  success: { status: 200, description: 'The session.', schema: sessionSchema },
  errors: ['session_not_found'],
  resource: sessionOfPath,
  handle: async ({ resource, caller }) => presentSessionTo(caller, resource),
});
