import type { CalledModel } from '../../src/models/called-model.js';
import type { ActivityTask } from '../../src/steps/activity-task.js';

/** For calls that a test begins without a worker. */
export const ACTIVITY_TASK: ActivityTask = { workerId: 'a-test', token: new Uint8Array([1]) };

/** The model of calls that a test begins without a worker; it has no price. */
export const CALLED_MODEL: CalledModel = { id: 'a-model', price: null };
