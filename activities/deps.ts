import type { AnswerWatch } from '../src/waits/watch.js';
import type { SchemaChecks } from '../src/outputs/schema-checks.js';
import type { ConversationCache } from '../src/steps/conversation-cache.js';
import type { DeltaStore } from '../src/stream/deltas.js';
import type { Notifier } from '../src/stream/notify.js';
import type { TurnWorkflows } from '../src/temporal/turn-workflows.js';
import type { LaunchDeps } from '../src/turns/begin.js';
import type { AbortableActivities } from '../src/turns/abortable-activities.js';
import type { ModelClients } from './model/clients.js';
import type { ActivitySlots } from './activity-slots.js';
import type { FairQueue } from '../src/platform/fair-queue.js';
import type { ToolDeps } from './tools/tool.js';
import type { ToolSource } from './tools/tool-source.js';

export interface ActivityDeps extends ToolDeps {
  /** Where the tools of turns come from, in the order of a request. */
  toolSources: readonly ToolSource[];
  deltas: DeltaStore;
  notifier: Notifier;
  answers: AnswerWatch;
  /** Starts and cancels the workflows of turns, and signals them what calls wait for. */
  workflows: LaunchDeps['workflows'] & Pick<TurnWorkflows, 'signalAsking' | 'signalAnswers' | 'cancel'>;
  /** The slots of this process (`WORKER_MAX_ACTIVITIES`). */
  slots: FairQueue;
  /** What Temporal may hand to this worker. */
  activitySlots: ActivitySlots;
  /** The connections of this process whose calls wait for a person. */
  waitingCalls: FairQueue;
  models: ModelClients;
  conversations: ConversationCache;
  schemaChecks: SchemaChecks;
  /** The identity in Temporal of the worker that runs the activities. */
  workerId: string;
  abortableActivities: AbortableActivities;
}
