import type { Schedule } from '../../../client/src/index.js';
import { NextRuns } from './next-runs.js';
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
