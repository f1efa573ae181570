import { pageOf } from '../../src/platform/page.js';
import { listTurns as readTurns } from '../../src/turns/find-turns.js';
import { operation } from '../http/core/operation.js';
import { numbersOf, pageRequest, pageSchema } from '../http/core/page.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';
import { presentTurn, turnSchema } from './present.js';

const AFTER_ALL = 2 ** 31 - 1;

export const listTurns = operation({
  id: 'listTurns',
  summary: 'List the turns of a session, newest first',
  description: 'Shows the runs of the agent in this session with status, usage and last message.',
  paged: true,
  success: { status: 200, description: 'A page of turns.', schema: pageSchema(turnSchema) },
  errors: ['session_not_found'],
  resource: sessionStateOfPath,
  async handle({ deps, caller, query, resource: session }) {
    const list = `turns of ${session.id}`;
    const { limit, after } = pageRequest(query, list, 1);
    const [before = AFTER_ALL] = numbersOf(after ?? []);
    const turns = await readTurns(deps.db, session.id, before, limit);
    return pageOf(
      list,
      turns,
      ({ number }) => [String(number)],
      (turn) => presentTurn(caller, turn),
    );
  },
});
