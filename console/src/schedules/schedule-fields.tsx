import type { Schedule } from '../../../client/src/index.js';
import { nextTimes } from '../../../src/schedules/calendar/next-times.js';
import { isTimeZone } from '../../../src/schedules/calendar/zone.js';
import { formatDateTime } from '../parts/format.js';
import type { ScheduleForm } from './schedule-form.js';

interface Props {
  form: ScheduleForm;
  endAt?: string | null;
  onChange: (form: ScheduleForm) => void;
}

export function ScheduleFields({ form, endAt = null, onChange }: Props) {
  const set = (change: Partial<ScheduleForm>): void => onChange({ ...form, ...change });
  return (
    <>
      <label class="field">
        <span>Name</span>
        <input value={form.name} maxLength={128} onInput={(event) => set({ name: event.currentTarget.value })} />
      </label>
      <fieldset>
        <legend>When</legend>
        <label class="field">
          <span>How often</span>
          <select
            value={form.repeats ? 'repeats' : 'once'}
            onChange={(event) => set({ repeats: event.currentTarget.value === 'repeats' })}
          >
            <option value="repeats">Again and again</option>
            <option value="once">Once</option>
          </select>
        </label>
        {form.repeats ? <CronFields form={form} set={set} /> : <TimeField form={form} set={set} />}
        <NextRuns form={form} endAt={endAt} />
      </fieldset>
      <label class="field">
        <span>Message</span>
        <textarea
          value={form.content}
          required
          rows={4}
          maxLength={100_000}
          onInput={(event) => set({ content: event.currentTarget.value })}
        />
      </label>
    </>
  );
}

interface PartProps {
  form: ScheduleForm;
  set: (change: Partial<ScheduleForm>) => void;
}

function CronFields({ form, set }: PartProps) {
  return (
    <>
      <label class="field">
        <span>Expression</span>
        <input value={form.cron} required onInput={(event) => set({ cron: event.currentTarget.value })} />
        <span class="hint">Minute, hour, day of month, month, day of week</span>
      </label>
      <label class="field">
        <span>Time zone</span>
        <input value={form.timezone} required onInput={(event) => set({ timezone: event.currentTarget.value })} />
      </label>
    </>
  );
}

function TimeField({ form, set }: PartProps) {
  return (
    <label class="field">
      <span>Time</span>
      <input
        type="datetime-local"
        step={1}
        value={form.at}
        required
        onInput={(event) => set({ at: event.currentTarget.value })}
      />
      <span class="hint">In the time zone of this browser</span>
    </label>
  );
}

const OVERLAPS: [Schedule['overlap'], string][] = [
  ['skip', 'Skip the time'],
  ['queue', 'Queue the message'],
];

/** For schedules of an existing session: a new one has no open turn. */
export function OverlapField({ form, onChange }: Pick<Props, 'form' | 'onChange'>) {
  return (
    <label class="field">
      <span>While the session has an open turn</span>
      <select
        value={form.overlap}
        onChange={(event) => onChange({ ...form, overlap: event.currentTarget.value as Schedule['overlap'] })}
      >
        {OVERLAPS.map(([overlap, label]) => (
          <option key={overlap} value={overlap}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

const SHOWN = 5;

/** The next runs of a schedule while it is typed, by the calculation of the service. */
function NextRuns({ form, endAt }: { form: ScheduleForm; endAt: string | null }) {
  const next = timesOf(form, endAt === null ? null : Date.parse(endAt));
  if (typeof next === 'string') return <span class="hint">{next}</span>;
  return (
    <ol class="hint" aria-label="Next runs">
      {next.map((time) => (
        <li key={time}>{formatDateTime(new Date(time).toISOString())}</li>
      ))}
    </ol>
  );
}

/** The times, or what is wrong with the form. */
function timesOf({ repeats, cron, timezone, at }: ScheduleForm, endAt: number | null): number[] | string {
  if (!repeats) {
    if (at === '') return '';
    return Date.parse(at) > Date.now() ? [Date.parse(at)] : 'The time is over.';
  }
  if (!isTimeZone(timezone)) return 'The time zone is not known. An example: Europe/Berlin';
  try {
    const times = nextTimes({ cron, at: null, timezone, endAt }, Date.now(), SHOWN);
    return times.length === 0 ? 'The expression never fires.' : times;
  } catch (error) {
    return `The expression ${(error as Error).message}.`;
  }
}
