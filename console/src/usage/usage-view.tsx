import { useMemo, useState } from 'preact/hooks';
import { collect } from '../client/collect.js';
import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { PageHead } from '../parts/page-head.js';
import { UsageTable } from './usage-table.js';

const DAY_MS = 86_400_000;
const PERIODS = [7, 30, 90];
const GROUPS: [string, string][] = [
  ['day', 'Day (UTC)'],
  ['model', 'Model'],
  ['session', 'Session'],
];

/** What the project's turns took: tokens and money, by day, model or session. */
export function UsageView() {
  const client = useClient();
  const [days, setDays] = useState(30);
  const [groupBy, setGroupBy] = useState('day');
  const from = useMemo(() => new Date(Date.now() - days * DAY_MS).toISOString(), [days]);
  const { value: loaded, error } = useLoad(
    async (signal) => ({ groupBy, groups: await collect(client.eachUsage({ from, group_by: groupBy }, { signal })) }),
    [client, from, groupBy],
  );
  return (
    <>
      <PageHead title="Usage" />
      <div class="actions">
        <label class="field">
          <span>Time</span>
          <select value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {PERIODS.map((period) => (
              <option key={period} value={period}>
                Last {period} days
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>By</span>
          <select value={groupBy} onChange={(event) => setGroupBy(event.currentTarget.value)}>
            {GROUPS.map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
      <ErrorNote error={error} />
      {loaded === null && error === null && <p class="hint">Loading …</p>}
      {loaded?.groups.length === 0 && <Empty title="No turn ended in this time">Every turn counts when it ends.</Empty>}
      {loaded !== null && loaded.groups.length > 0 && <UsageTable {...loaded} />}
    </>
  );
}
