import type { ScheduleRun } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { formatDateTime } from '../parts/format.js';
import { LinkRow, ListFrame } from '../parts/list-frame.js';
import { Status } from '../parts/status.js';

const REASONS: Record<NonNullable<ScheduleRun['reason']>, string> = {
  missed: 'The service was away',
  workspace_unavailable: 'The service runs no commands',
  session_running: 'The session had an open turn',
  too_many_running_turns: 'The project was at its limit of turns',
  queue_full: 'Too many messages waited in the session',
  storage_limit_reached: 'The project has no storage left',
  not_found: 'A file, skill, server or model is gone',
};

export function Runs({ scheduleId }: { scheduleId: string }) {
  const client = useClient();
  const list = useList(
    (cursor, signal) => client.listScheduleRuns(scheduleId, { cursor, limit: 20 }, { signal }),
    [client, scheduleId],
  );
  return (
    <section aria-label="Runs">
      <div class="page-head">
        <h2>Runs</h2>
        <button disabled={list.busy} onClick={list.reload}>
          Refresh
        </button>
      </div>
      <ListFrame
        list={list}
        label="Runs"
        empty={<Empty title="There are no runs yet">They are kept for 30 days.</Empty>}
        row={(run) => <Run key={run.scheduled_at} run={run} />}
      />
    </section>
  );
}

function Run({ run }: { run: ScheduleRun }) {
  const time = formatDateTime(run.scheduled_at);
  if (run.session_id === null) {
    return (
      <li class="row">
        <span class="row-title">{time}</span>
        <Status look="idle">Skipped</Status>
        <span class="hint">{run.reason !== null && REASONS[run.reason]}</span>
      </li>
    );
  }
  return (
    <LinkRow href={`#/sessions/${run.session_id}`} title={time}>
      {run.started_at === null ? <Status look="waiting">Waiting</Status> : <Status look="complete">Started</Status>}
      <span class="hint">{run.session_id}</span>
    </LinkRow>
  );
}
