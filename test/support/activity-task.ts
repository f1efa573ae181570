import type { ActivityTask } from '../../src/turns/turn.js';

/** For calls that a test begins without a worker. */
export const ACTIVITY_TASK: ActivityTask = { workerId: 'a-test', token: new Uint8Array([1]) };
