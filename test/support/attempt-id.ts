import type { CalledModel } from '../../src/models/price.js';
import type { AttemptId } from '../../src/steps/model-call.js';

/** For calls that a test begins without a worker. */
export const ATTEMPT_ID: AttemptId = { workerId: 'a-test', token: new Uint8Array([1]) };

/** The model of calls that a test begins without a worker; it has no price. */
export const CALLED_MODEL: CalledModel = { id: 'a-model', price: null };

/** A step to store, beside its call and answer: no deltas, and no call that asks a person. */
export const PLAIN_STEP = {
  deltas: { last: 0, runs: [] },
  callOf: <Use>(use: Use): Use => use,
  showsThinking: true,
  approvalOf: () => ({ permission: null, approvers: [] }),
  isLast: false,
  output: null,
};
