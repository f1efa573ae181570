import { Initial1700000000001 } from './1-initial.js';
import { Turns1700000000002 } from './2-turns.js';
import { PackedDeltas1700000000003 } from './3-packed-deltas.js';
import { RequiredActions1700000000004 } from './4-required-actions.js';
import { Webhooks1700000000005 } from './5-webhooks.js';
import { Mcp1700000000006 } from './6-mcp.js';
import { Installation1700000000008 } from './8-installation.js';
import { Leases1700000000009 } from './9-leases.js';
import { WaitingTime1700000000020 } from './20-waiting-time.js';
import { WaitingIndex1700000000021 } from './21-waiting-index.js';
import { Indexes1700000000023 } from './23-indexes.js';
import { Admission1700000000025 } from './25-admission.js';

/** In order; only ever added to. */
export const migrations = [
  Initial1700000000001,
  Turns1700000000002,
  PackedDeltas1700000000003,
  RequiredActions1700000000004,
  Webhooks1700000000005,
  Mcp1700000000006,
  Installation1700000000008,
  Leases1700000000009,
  WaitingTime1700000000020,
  WaitingIndex1700000000021,
  Indexes1700000000023,
  Admission1700000000025,
];
