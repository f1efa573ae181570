import { useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useLoad } from '../client/use-load.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyText } from '../parts/copy-text.js';
import { ErrorNote } from '../parts/error-note.js';
import { formatDateTime } from '../parts/format.js';
import { PageHead, UnreadPage } from '../parts/page-head.js';
import { ScheduleStatus } from '../parts/status.js';
import { navigate } from '../route.js';
import { EditSchedule } from './edit-schedule.js';
import { Runs } from './runs.js';
import { timingText } from './schedules-view.js';

const PAUSES = {
  session_deleted: 'Its session was deleted.',
  failures: 'Ten of its turns in a row failed. Resume starts the count anew.',
} as const;

export function ScheduleView({ id }: { id: string }) {
  const client = useClient();
  const { value: schedule, error, replace } = useLoad((signal) => client.getSchedule(id, { signal }), [client, id]);
  const [runs, setRuns] = useState(0);
  const switching = useAction(async () => {
    replace(await (schedule?.state === 'paused' ? client.resumeSchedule(id) : client.pauseSchedule(id)));
  });
  const running = useAction(async () => {
    replace(await client.runSchedule(id));
    setRuns((count) => count + 1);
  });
  const remove = async (): Promise<void> => {
    await client.deleteSchedule(id);
    navigate('/schedules');
  };
  if (schedule === null) return <UnreadPage title="Schedule" error={error} />;
  // A single time was typed in the zone of the browser.
  const zone = schedule.cron === null ? undefined : schedule.timezone;
  return (
    <>
      <PageHead title={schedule.name ?? 'Schedule'} back="#/schedules">
        <ScheduleStatus schedule={schedule} />
        <button disabled={running.busy} onClick={() => running.run()}>
          Run now
        </button>
        {schedule.state !== 'ended' && (
          <button disabled={switching.busy} onClick={() => switching.run()}>
            {schedule.state === 'paused' ? 'Resume' : 'Pause'}
          </button>
        )}
        <ConfirmButton label="Delete" question="Delete this schedule?" onConfirm={remove} />
      </PageHead>
      <ErrorNote error={running.error ?? switching.error} />
      {schedule.paused_reason !== null && (
        <p class="note error">
          <strong>The service paused this schedule</strong> {PAUSES[schedule.paused_reason]}
        </p>
      )}
      <div class="facts">
        <CopyText text={schedule.id} label="schedule id" />
        <span>{timingText(schedule)}</span>
        {schedule.end_at !== null && <span>until {formatDateTime(schedule.end_at)}</span>}
        {schedule.target.type === 'existing_session' && (
          <span>
            in <a href={`#/sessions/${schedule.target.session_id}`}>its session</a>
            {schedule.overlap === 'queue' ? ', queued while a turn is open' : ', skipped while a turn is open'}
          </span>
        )}
      </div>
      <section class="section" aria-label="Message">
        <h2>Message</h2>
        <p class="plain-text">{schedule.message.content}</p>
      </section>
      {schedule.next_runs_at.length > 0 && (
        <section class="section" aria-label="Next runs">
          <h2>Next runs{zone !== undefined && `, in ${zone}`}</h2>
          <ol>
            {schedule.next_runs_at.map((time) => (
              <li key={time}>{formatDateTime(time, zone)}</li>
            ))}
          </ol>
        </section>
      )}
      <EditSchedule key={schedule.updated_at} schedule={schedule} onSaved={replace} />
      <Runs key={runs} scheduleId={id} />
    </>
  );
}
