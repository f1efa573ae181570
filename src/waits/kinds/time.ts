import { validationError } from '../../platform/errors.js';
import type { WaitKind } from './wait-kind.js';

/** The agent waits until a time (decisions.md "An agent that waits"). The call then runs, and its result says why the wait has ended. */
export const time: WaitKind<object, 'user.tool_confirmation'> = {
  type: 'time',
  // Nobody is asked, but a person may end it early.
  action: null,
  answers: {
    'user.tool_confirmation'(_, { result, input, remember }, path) {
      if (input !== null) throw validationError(`${path}/input`, 'is not allowed: this call only waits for its time');
      if (remember !== null)
        throw validationError(`${path}/remember`, 'is not allowed: this call only waits for its time');
      return result === 'allow' ? 'allowed' : 'denied';
    },
  },
  resultOf: () => null,
  onExpiry: 'close',
  takenBy: 'workflow',
};
