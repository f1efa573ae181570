import type { Config } from '../../src/platform/config.js';
import { temporalQuestions } from '../../src/temporal/doctor.js';
import { CheckError, type Check } from './check.js';

/** A server with its default settings takes longer than that; one with those of docs/operations/temporal.md does not. */
const SLOW_DISPATCH_MS = 30;

/** Temporal: reachable with a namespace, its search attributes, and workers that poll. */
export function temporalChecks({ taskQueue }: Config): Check[] {
  const remedy =
    'Check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and TEMPORAL_API_KEY or the TLS variables, and that the namespace exists.';
  return [
    {
      part: 'temporal',
      remedy,
      async run() {
        const { namespace, days } = await temporalQuestions.namespace();
        return `namespace ${namespace}, keeps closed workflows ${days} days`;
      },
    },
    {
      part: 'search attributes',
      remedy,
      async run() {
        const missing = await temporalQuestions.missingSearchAttributes();
        if (missing.length === 0) return 'all there';
        throw new CheckError(
          `the namespace lacks ${missing.join(', ')}: turns start without them`,
          'Add them as Keyword: temporal operator search-attribute create, or on Temporal Cloud tcld or Terraform.',
        );
      },
    },
    {
      part: 'temporal tasks',
      remedy,
      async run() {
        const ms = await temporalQuestions.dispatchMs();
        const took = `the server hands a task out after ${Math.round(ms)} ms`;
        // A client cannot see a server's settings, only their effect. Turns run all the same.
        return ms <= SLOW_DISPATCH_MS
          ? took
          : `${took}: slow; for a server of your own see docs/operations/temporal.md`;
      },
    },
    {
      part: 'worker',
      remedy,
      async run() {
        if (await temporalQuestions.isPolled(taskQueue)) return `task queue ${taskQueue} is polled`;
        throw new CheckError(
          `nobody polls the task queue ${taskQueue}: turns stay queued`,
          'Start a worker (npm run worker) with the same TASK_QUEUE, TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.',
        );
      },
    },
  ];
}
