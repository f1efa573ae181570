import { useState } from 'preact/hooks';
import type { Schedule } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ActionForm } from '../parts/action-form.js';
import { OverlapField, ScheduleFields } from './schedule-fields.js';
import { changeOf, formOf } from './schedule-form.js';

interface Props {
  schedule: Schedule;
  onSaved: (schedule: Schedule) => void;
}

export function EditSchedule({ schedule, onSaved }: Props) {
  const client = useClient();
  const [form, setForm] = useState(() => formOf(schedule));
  const saving = useAction(async () => onSaved(await client.updateSchedule(schedule.id, changeOf(form, schedule))));
  return (
    <details class="section">
      <summary>Change it</summary>
      <ActionForm action={saving} submit="Save">
        <ScheduleFields form={form} endAt={schedule.end_at} onChange={setForm} />
        {schedule.target.type === 'existing_session' && <OverlapField form={form} onChange={setForm} />}
      </ActionForm>
    </details>
  );
}
