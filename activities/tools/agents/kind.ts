import { Ajv } from 'ajv';
import { beginChild, type AgentCall } from '../../../src/delegations/begin.js';
import type { CalledModel, Price } from '../../../src/models/price.js';
import { compileOnce } from '../../../src/platform/compile-once.js';
import { delegations } from '../../../src/platform/metrics.js';
import type { CallableAgent } from '../../../src/steps/context.js';
import type { ToolCallRow, ToolResult } from '../../../src/steps/tool-call.js';
import type { LaunchDeps } from '../../../src/turns/begin.js';
import type { TurnDeps } from '../../../src/turns/change-turn.js';
import {
  findChildOutcome,
  markDone,
  newDeliveries,
  resultOfChild,
  type ChildOutcome,
} from '../../../src/turns/children.js';
import { outcomeUnknown } from '../outcomes.js';
import { textResult } from '../tool.js';
import type { ToolKind } from '../tool-kind.js';

export type AgentKindDeps = TurnDeps &
  LaunchDeps & { models: { get(id: string): { called: Pick<CalledModel, 'price'> } | undefined } };

export const INPUT_SCHEMA = {
  type: 'object' as const,
  properties: {
    message: {
      type: 'string',
      minLength: 1,
      maxLength: 100_000,
      pattern: '\\S',
      description: 'The task, with everything that the agent needs to know: it does not see this conversation.',
    },
    files: {
      type: 'array',
      items: { type: 'string' },
      maxItems: 20,
      uniqueItems: true,
      description: 'Ids of files of this conversation to attach.',
    },
    session_id: {
      type: 'string',
      description: 'A session of an earlier result of this agent, to go on there. Without it, the agent begins anew.',
    },
  },
  required: ['message'],
  additionalProperties: false as const,
};

const ajv = new Ajv({ allErrors: true });
const checkOf = compileOnce(ajv);

/**
 * A call of another agent (decisions.md "Agents that call agents"). Before it is recorded as started it has begun a turn of that agent, and
 * waits for its end without an activity. It runs when that turn has ended, and stores the outcome.
 */
export function agentKind(deps: AgentKindDeps, agent: CallableAgent): ToolKind {
  let refused: ToolResult | null = null;
  let ended: ChildOutcome | null = null;
  const refuse = (text: string): null => {
    delegations.inc({ outcome: 'refused' });
    refused = textResult(text, true);
    return null;
  };
  return {
    name: 'agent',
    repeatable: true,
    async prepare({ call }) {
      ended = call.wait?.kind === 'child_turn' ? await findChildOutcome(deps.db, call) : null;
      if (ended !== null) return null;
      const valid = checkOf(INPUT_SCHEMA);
      if (!valid(call.input)) return refuse(`Wrong input: ${ajv.errorsText(valid.errors, { dataVar: 'input' })}.`);
      const priceOf = (modelId: string): Price | null => deps.models.get(modelId)?.called.price ?? null;
      const { turnId, step, index, toolUseId } = call;
      const input = call.input as AgentCall['input'];
      const begun = await beginChild({ ...deps, priceOf }, { turnId, step, index, toolUseId, agent, input });
      if (begun !== 'waits') return refuse(begun.refused);
      return { suspended: { kind: 'waits' }, outcome: 'delegated', store: () => Promise.resolve() };
    },
    run: async (_, { call }) => refused ?? outcomeOf(call, ended),
    notRepeated: () => outcomeUnknown(`agent ${agent.name}`),
  };
}

function outcomeOf(call: ToolCallRow, outcome: ChildOutcome | null): ToolResult {
  if (outcome === null) throw new Error('a call runs although its child turn is open');
  const { message, facts, isError, delegation } = resultOfChild(outcome);
  delegations.inc({ outcome: outcome.status });
  return {
    ...textResult(`${message}\n${facts}`, isError),
    endBytes: Buffer.byteLength(facts),
    shown: { delegation },
    eventsBefore: (tx) => newDeliveries(tx, call.turnId, call),
    commit: async (tx) => markDone(tx, call),
  };
}
