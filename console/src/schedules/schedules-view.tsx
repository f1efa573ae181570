import type { Schedule } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { formatDateTime } from '../parts/format.js';
import { LinkRow, ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { ScheduleStatus } from '../parts/status.js';

export function SchedulesView() {
  const client = useClient();
  const list = useList((cursor, signal) => client.listSchedules({ cursor, limit: 50 }, { signal }), [client]);
  return (
    <>
      <PageHead title="Schedules">
        <a class="button primary" href="#/schedules/new">
          New schedule
        </a>
      </PageHead>
      <ListFrame
        list={list}
        label="Schedules"
        empty={
          <Empty title="There are no schedules yet">
            A schedule sends a message by itself, every morning or once.{' '}
            <a href="#/schedules/new">Create the first one</a>
          </Empty>
        }
        row={(schedule) => <ScheduleRow key={schedule.id} schedule={schedule} />}
      />
    </>
  );
}

function ScheduleRow({ schedule }: { schedule: Schedule }) {
  const [next] = schedule.next_runs_at;
  return (
    <LinkRow href={`#/schedules/${schedule.id}`} title={schedule.name ?? schedule.message.content}>
      <ScheduleStatus schedule={schedule} />
      <span class="hint">
        {timingText(schedule)}
        {next !== undefined && ` · next ${formatDateTime(next, schedule.timezone)} there`}
      </span>
    </LinkRow>
  );
}

export function timingText({ cron, at, timezone }: Pick<Schedule, 'cron' | 'at' | 'timezone'>): string {
  return cron === null ? `once, ${formatDateTime(at!)}` : `${cron} in ${timezone}`;
}
