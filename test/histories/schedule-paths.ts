import { eventually } from '../support/eventually.js';
import { createSchedule, inSeconds, newSchedule, ofSchedule } from '../support/schedules.js';
import { SECRET, type Path } from './path.js';

/** The workflow that Temporal's schedule starts. */
export const SCHEDULE_PATHS: Path[] = [
  {
    name: 'schedule-fired',
    async play({ service, client }) {
      service.model.reply(SECRET);
      const session = { model_id: 'scripted', instruction: SECRET, metadata: { note: SECRET } };
      const { id } = await createSchedule(
        service.api,
        newSchedule({
          name: SECRET,
          at: inSeconds(3),
          target: { type: 'new_session', session },
          message: { content: SECRET },
        }),
      );
      await eventually('the run', async () => (await ofSchedule(service.api, 'GET', id)).last_run !== null);
      const { last_run: run } = await ofSchedule(service.api, 'GET', id);
      await service.ended(run.session_id);
      let fired: string | undefined;
      await eventually('Temporal lists the workflow', async () => {
        const query = `WorkflowId STARTS_WITH 'fire-${id}' AND TemporalScheduledById IS NOT NULL`;
        for await (const { workflowId } of client.workflow.list({ query })) fired = workflowId;
        return fired !== undefined;
      });
      return fired!;
    },
  },
];
