import { expect } from 'chai';
import type { ApiResponse } from './client.js';
import type { McpServerOptions, Question } from './mcp-server.js';
import { steps, toolUse } from './scripted-model.js';
import type { TurnServiceOptions } from './turns.js';
import { useRegisteredMcp } from './use.js';
import { requiredActions, sendAnswers } from './waiting-turns.js';

export const BRANCH_FORM: Question = {
  mode: 'form',
  message: 'Which branch?',
  requestedSchema: { type: 'object', properties: { branch: { type: 'string' } } },
};

export const elicitationResult = (elicitation_id: string, action: string, content?: object | null): object => ({
  type: 'user.elicitation_result',
  elicitation_id,
  action,
  ...(content !== undefined && { content }),
});

/** A service, a server `ops` whose tools may ask a person and may be tasks, and what turns do with it. */
export function useOps(mcpOptions: McpServerOptions, options: TurnServiceOptions = {}) {
  const used = useRegisteredMcp('ops', mcpOptions, options);
  const { mcp, service, registered } = used;
  afterEach(() => service.model.reset());

  const answer = (sessionId: string, ...given: Parameters<typeof elicitationResult>): Promise<ApiResponse> =>
    sendAnswers(service, sessionId, [elicitationResult(...given)]);
  return {
    ...used,
    answer,
    /** A turn whose model calls these tools in one step, and then ends; the server may ask. */
    start: async (tools: string | string[], elicitation = true): Promise<{ sessionId: string; turnId: string }> => {
      const message = `Go: ${String(tools)}`;
      const uses = [tools].flat().map((tool) => toolUse(`mcp__ops__${tool}`, {}, { id: `toolu_${tool}` }));
      service.model.on(new RegExp(message), steps(uses, 'Done.'));
      const toolset = { type: 'mcp_toolset', mcp_server_id: registered.id, elicitation };
      const sessionId = await service.session({ mcp_servers: [registered.id], tools: [toolset] });
      return { sessionId, turnId: await service.send(sessionId, message) };
    },
    /** The first result of a tool, once the turn has completed. */
    // oxlint-disable-next-line typescript/no-explicit-any -- tests look into its content
    result: async (sessionId: string): Promise<any> => {
      expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
      return await service.resultOf(sessionId);
    },
    declineAll: async (sessionId: string, count = 1): Promise<void> => {
      const actions = await requiredActions(service, sessionId, count);
      const events = actions.map(({ elicitation_id: id }) => elicitationResult(id as string, 'decline'));
      expect((await sendAnswers(service, sessionId, events)).status).to.equal(201);
    },
    /** The question takes no answer any more. */
    expectClosed: async (
      sessionId: string,
      elicitationId: string,
      state: string,
      action = 'decline',
    ): Promise<void> => {
      const { status, body } = await answer(sessionId, elicitationId, action);
      expect([status, body.error.details?.state]).to.deep.equal([409, state]);
    },
    /** Every question of the session is closed in the tables too. */
    expectNoneOpen: async (sessionId: string): Promise<void> => {
      const open = 'SELECT FROM waits WHERE session_id = $1 AND closed_at IS NULL';
      expect(await service.db.query(open, [sessionId])).to.deep.equal([]);
    },
    /** Whether the server knows that the task is cancelled. */
    isCancelled: (id: string): boolean =>
      mcp.taskStates().some(({ taskId, status }) => taskId === id && status === 'cancelled'),
  };
}

/** The turn of the session ended soon after its cancel: after 2 s at most, and a busy machine needs more. */
export async function expectSoonCancelled(
  { db }: ReturnType<typeof useRegisteredMcp>['service'],
  sessionId: string,
): Promise<void> {
  const [{ cancel_ms }] = await db.query<[{ cancel_ms: number }]>(
    `SELECT (extract(epoch FROM ended_at - cancel_requested_at) * 1000)::double precision AS cancel_ms
     FROM turns WHERE session_id = $1`,
    [sessionId],
  );
  expect(cancel_ms).to.be.lessThan(5000);
}
