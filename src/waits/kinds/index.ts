import { approval } from './approval.js';
import { budget } from './budget.js';
import { childTurn } from './child-turn.js';
import { clientTool } from './client-tool.js';
import { login } from './login.js';
import { question } from './question.js';
import { reserve } from './reserve.js';
import { time } from './time.js';
import type { AnyWaitKind, WaitType } from './wait-kind.js';

/** Everything that a turn can wait for. */
// oxfmt-ignore
export const WAIT_KINDS: readonly AnyWaitKind[] = [
  approval, clientTool, question, login, budget, time, childTurn, reserve,
] as const;

const byType = new Map(WAIT_KINDS.map((kind) => [kind.type, kind]));

export function kindOf(type: WaitType): AnyWaitKind {
  return byType.get(type)!;
}
