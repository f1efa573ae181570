import { useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ActionForm } from '../parts/action-form.js';
import { PageHead } from '../parts/page-head.js';
import { navigate } from '../route.js';
import { OverlapField, ScheduleFields } from './schedule-fields.js';
import { emptyForm, timingOf } from './schedule-form.js';
import { EMPTY_TARGET, TargetFields, targetOf } from './target-fields.js';

export function NewSchedule() {
  const client = useClient();
  const [form, setForm] = useState(emptyForm);
  const [target, setTarget] = useState(EMPTY_TARGET);
  const creating = useAction(async () => {
    const { name, content, overlap } = form;
    const { id } = await client.createSchedule({
      ...(name !== '' && { name }),
      ...timingOf(form),
      ...(!target.isNew && { overlap }),
      target: targetOf(target),
      message: { content },
    });
    navigate(`/schedules/${id}`);
  });
  return (
    <>
      <PageHead title="New schedule" back="#/schedules" />
      <ActionForm
        action={creating}
        submit="Create schedule"
        incomplete={target.isNew && target.modelId === ''}
        back="#/schedules"
      >
        <ScheduleFields form={form} onChange={setForm} />
        <TargetFields target={target} onChange={setTarget} />
        {!target.isNew && <OverlapField form={form} onChange={setForm} />}
      </ActionForm>
    </>
  );
}
