import { useMemo, useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { Field, SelectField } from '../parts/fields.js';
import { PageHead } from '../parts/page-head.js';
import { UsageTable } from './usage-table.js';

const DAY_MS = 86_400_000;
const PERIODS = ['7', '30', '90'];
const METADATA = 'metadata.';
const GROUPS: [string, string][] = [
  ['day', 'Day (UTC)'],
  ['model', 'Model'],
  ['session', 'Session'],
  [METADATA, 'Metadata'],
];

/** What the project's turns took: tokens and money, by day, model, session or a key of the sessions' metadata. */
export function UsageView() {
  const client = useClient();
  const [days, setDays] = useState('30');
  const [kind, setKind] = useState('day');
  const [key, setKey] = useState('');
  const groupBy = kind === METADATA ? METADATA + key : kind;
  const from = useMemo(() => new Date(Date.now() - Number(days) * DAY_MS).toISOString(), [days]);
  const { value: loaded, error } = useLoad(
    async (signal) => {
      if (groupBy === METADATA) return null;
      return { groupBy, groups: await Array.fromAsync(client.eachUsage({ from, group_by: groupBy }, { signal })) };
    },
    [client, from, groupBy],
  );
  return (
    <>
      <PageHead title="Usage" />
      <div class="actions">
        <SelectField
          label="Time"
          value={days}
          options={PERIODS.map((period) => [period, `Last ${period} days`] as const)}
          onChange={setDays}
        />
        <SelectField label="By" value={kind} options={GROUPS} onChange={setKind} />
        {kind === METADATA && (
          <Field label="Key">
            <input value={key} maxLength={64} onChange={(event) => setKey(event.currentTarget.value)} />
          </Field>
        )}
      </div>
      <ErrorNote error={error} />
      {loaded === null && error === null && (
        <p class="hint">{groupBy === METADATA ? 'Name a key of the sessions’ metadata.' : 'Loading …'}</p>
      )}
      {loaded?.groups.length === 0 && <Empty title="No turn ended in this time">Every turn counts when it ends.</Empty>}
      {loaded !== null && loaded.groups.length > 0 && <UsageTable {...loaded} />}
    </>
  );
}
