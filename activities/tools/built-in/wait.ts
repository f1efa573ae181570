import { MAX_WAIT_SECONDS, WAIT } from '../../../src/sessions/tools.js';
import type { EventData } from '../../../src/events/schema.js';
import type { TurnDeps } from '../../../src/turns/change-turn.js';
import type { CallWait } from '../../../src/waits/unrun-result.js';
import { reasonOf, waitForTime } from '../../../src/waits/time.js';
import { outcomeUnknown } from '../outcomes.js';
import { textResult, type ToolResult } from '../tool.js';
import type { ToolKind } from '../tool-kind.js';
import type { TurnTool } from '../tool-source.js';
import { misfitOf } from './kind.js';
import { ownTool } from './turn-tool.js';

const definition = {
  name: WAIT,
  description:
    'Waits, then returns the current time. Use it to go on later in this turn, for example to look again whether a job is done. A person may end the wait early.',
  inputSchema: {
    type: 'object' as const,
    properties: {
      seconds: { type: 'integer', minimum: 1, maximum: MAX_WAIT_SECONDS, description: 'How long to wait.' },
    },
    required: ['seconds'],
    additionalProperties: false as const,
  },
};

/** The tool `wait` (decisions.md "An agent that waits"). */
export function waitTool(deps: TurnDeps): TurnTool {
  return ownTool(definition, () => waitKind(deps));
}

/** A call that first waits for its time. It runs when the wait has ended, and says why. */
function waitKind(deps: TurnDeps): ToolKind {
  return {
    name: 'wait',
    repeatable: true,
    prepare({ call }) {
      if (call.wait !== null || misfitOf(definition, call.input) !== null) return Promise.resolve(null);
      return Promise.resolve({
        suspended: { kind: 'waits' },
        outcome: 'wait',
        store: (retry) => retry(() => waitForTime(deps, call, call.input.seconds as number)),
      });
    },
    run: (_, { call }) =>
      Promise.resolve(misfitOf(definition, call.input) ?? endOf(call.wait!, call.input.seconds as number)),
    notRepeated: () => outcomeUnknown(WAIT),
  };
}

function endOf({ outcome, answer }: CallWait, seconds: number): ToolResult {
  const now = `It is now ${new Date().toISOString()}.`;
  if (outcome === 'allowed') return textResult(`A person ended the wait early. ${now}`);
  if (outcome !== 'denied') return textResult(`Waited ${seconds} s. ${now}`);
  const { deny_message: message } = answer as EventData['user.tool_confirmation'];
  return textResult(`A person ended the wait early. ${reasonOf(message)} ${now}`);
}
