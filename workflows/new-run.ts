import { makeContinueAsNewFunc, workflowInfo } from '@temporalio/workflow';
import type { TurnInput } from './contract.js';

/** Memo set on a run that continues a long wait. */
export const LONG_WAIT = 'longWait';

/** Goes on in a new run: on the current build, if it has replaced this one, or if this run waited long or begins to. */
export function continueAsNew(input: TurnInput): Promise<never> {
  const { memo = {}, targetWorkerDeploymentVersionChanged: isReplaced } = workflowInfo();
  const wasLongWait = memo[LONG_WAIT] === true;
  const isLongWait = input.wait !== undefined || input.paused === true;
  return makeContinueAsNewFunc<(input: TurnInput) => Promise<unknown>>({
    ...((wasLongWait || isLongWait) && { memo: { ...memo, [LONG_WAIT]: isLongWait } }),
    ...((wasLongWait || isLongWait || isReplaced) && { initialVersioningBehavior: 'AUTO_UPGRADE' }),
  })(input);
}
