import type { Route } from './http/operation.js';
import { listModels } from './models/list.js';
import { createSession } from './sessions/create.js';
import { deleteSession } from './sessions/delete.js';
import { getSession } from './sessions/get.js';
import { listSessions } from './sessions/list.js';
import { updateSession } from './sessions/update.js';

const LIMITED = true;
const UNLIMITED = false;

/** Every operation, in the specification's order; a permission of null asks for no key (outside of /v1). */
// prettier-ignore
export const routes: Route[] = [
  ['GET',    '/v1/models',                    'sessions:read',  UNLIMITED, listModels],
  ['POST',   '/v1/sessions',                  'sessions:write', LIMITED,   createSession],
  ['GET',    '/v1/sessions',                  'sessions:read',  UNLIMITED, listSessions],
  ['GET',    '/v1/sessions/{session_id}',     'sessions:read',  UNLIMITED, getSession],
  ['PATCH',  '/v1/sessions/{session_id}',     'sessions:write', LIMITED,   updateSession],
  ['DELETE', '/v1/sessions/{session_id}',     'sessions:write', LIMITED,   deleteSession],
];
