import { Initial1800000000001 } from './1-initial.js';

/** In order; only ever added to. */
export const migrations = [Initial1800000000001];
