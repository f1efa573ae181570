import { nextTimes } from '../../../src/schedules/calendar/next-times.js';
import { isTimeZone } from '../../../src/schedules/calendar/zone.js';
import { SelectField, TextAreaField, TextField } from '../parts/fields.js';
import { formatDateTime } from '../parts/format.js';
import type { ScheduleForm } from './schedule-form.js';

const FREQUENCIES = [
  ['repeats', 'Again and again'],
  ['once', 'Once'],
] as const;

interface Props {
  form: ScheduleForm;
  endAt?: string | null;
  onChange: (form: ScheduleForm) => void;
}

export function ScheduleFields({ form, endAt = null, onChange }: Props) {
  const set = (change: Partial<ScheduleForm>): void => onChange({ ...form, ...change });
  return (
    <>
      <TextField label="Name" value={form.name} maxLength={128} onChange={(name) => set({ name })} />
      <fieldset>
        <legend>When</legend>
        <SelectField
          label="How often"
          value={form.repeats ? 'repeats' : 'once'}
          options={FREQUENCIES}
          onChange={(frequency) => set({ repeats: frequency === 'repeats' })}
        />
        {form.repeats ? <CronFields form={form} set={set} /> : <TimeField form={form} set={set} />}
        <NextRuns form={form} endAt={endAt} />
      </fieldset>
      <TextAreaField
        label="Message"
        value={form.content}
        required
        rows={4}
        maxLength={100_000}
        onChange={(content) => set({ content })}
      />
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
      <TextField
        label="Expression"
        hint="Minute, hour, day of month, month, day of week"
        value={form.cron}
        required
        onChange={(cron) => set({ cron })}
      />
      <TextField label="Time zone" value={form.timezone} required onChange={(timezone) => set({ timezone })} />
    </>
  );
}

function TimeField({ form, set }: PartProps) {
  return (
    <TextField
      label="Time"
      hint="In the time zone of this browser"
      type="datetime-local"
      step={1}
      value={form.at}
      required
      onChange={(at) => set({ at })}
    />
  );
}

const OVERLAPS = [
  ['skip', 'Skip the time'],
  ['queue', 'Queue the message'],
] as const;

/** For schedules of an existing session: a new one has no open turn. */
export function OverlapField({ form, onChange }: Pick<Props, 'form' | 'onChange'>) {
  return (
    <SelectField
      label="While the session has an open turn"
      value={form.overlap}
      options={OVERLAPS}
      onChange={(overlap) => onChange({ ...form, overlap })}
    />
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
        <li key={time}>{formatDateTime(new Date(time).toISOString(), form.repeats ? form.timezone : undefined)}</li>
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
