import { useEffect, useMemo, useState } from 'preact/hooks';
import type { AgentSessionClient, Session, UsageGroup } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { Field, SelectField } from '../parts/fields.js';
import { formatNumber } from '../parts/format.js';
import { Icon } from '../parts/icon.js';
import { PageHead } from '../parts/page-head.js';
import { saveText } from '../parts/save-blob.js';
import { replaceQuery } from '../route.js';
import { csvOf } from './csv.js';
import { measureOf } from './measure.js';
import { DEFAULT_PERIOD, periodOf, periods, type Period } from './period.js';
import { readStacks, type Stack } from './read-stacks.js';
import { UsageChart } from './usage-chart.js';
import { UsageTable, type Sort } from './usage-table.js';

const METADATA = 'metadata.';
const GROUPS: [string, string][] = [
  ['day', 'Day (UTC)'],
  ['model', 'Model'],
  ['session', 'Session'],
  [METADATA, 'Metadata'],
];

interface Loaded {
  groupBy: string;
  groups: UsageGroup[];
  days: UsageGroup[];
  sessions: Map<string, Session>;
}

/** What the project's turns took: tokens and money, by day, model, session or a key of the sessions' metadata. */
export function UsageView({ query }: { query: URLSearchParams }) {
  const client = useClient();
  const [choices] = useState(periods);
  const [time, setTime] = useState(choices.find(([name]) => name === query.get('time'))?.[0] ?? DEFAULT_PERIOD);
  const [kind, setKind] = useState(GROUPS.find(([name]) => name === query.get('by'))?.[0] ?? 'day');
  const [key, setKey] = useState(query.get('key') ?? '');
  const [chosenSort, setSort] = useState<Sort | null>(null);
  useEffect(() => replaceQuery({ time, by: kind, key: kind === METADATA ? key : undefined }), [time, kind, key]);
  const groupBy = kind === METADATA ? METADATA + key : kind;
  const period = useMemo(() => periodOf(time), [time]);
  const { value: loaded, error } = useLoad(
    (signal) => (groupBy === METADATA ? Promise.resolve(null) : load(client, groupBy, period, signal)),
    [client, period, groupBy],
  );
  const [stacks, setStacks] = useState<Stack[] | null>(null);
  const [stackError, setStackError] = useState<unknown>(null);
  useEffect(() => {
    const leave = new AbortController();
    setStacks(null);
    if (loaded !== null && loaded.days.length > 0) {
      readStacks(client, loaded.days, period, leave.signal).then(setStacks, (cause: unknown) => {
        if (!leave.signal.aborted) setStackError(cause);
      });
    }
    return () => leave.abort();
  }, [client, loaded?.days, period]);
  const sort = chosenSort ?? (kind === 'day' ? 'group' : 'cost');
  const models = [...new Set((stacks ?? []).flatMap(({ models: of }) => of.map(({ group }) => group!)))];
  return (
    <>
      <PageHead title="Usage">
        <button
          disabled={loaded === null || loaded.groups.length === 0}
          onClick={() =>
            saveText(
              `usage-${groupBy}-${time.includes('-') ? time : `${time}-days`}.csv`,
              'text/csv',
              csvOf(loaded!.groups),
            )
          }
        >
          <Icon name="file" /> CSV
        </button>
      </PageHead>
      <div class="filters actions">
        <SelectField label="Time" value={time} options={choices} onChange={setTime} />
        <SelectField label="By" value={kind} options={GROUPS} onChange={(next) => (setKind(next), setSort(null))} />
        {kind === METADATA && (
          <Field label="Key">
            <input value={key} maxLength={64} onChange={(event) => setKey(event.currentTarget.value)} />
          </Field>
        )}
      </div>
      <ErrorNote error={error ?? stackError} />
      {loaded === null && error === null && (
        <p class="hint">{groupBy === METADATA ? 'Name a key of the sessions’ metadata.' : 'Loading …'}</p>
      )}
      {loaded?.groups.length === 0 && (
        <Empty title="No turn ended in this time" icon="usage">
          Every turn counts when it ends.
        </Empty>
      )}
      {loaded !== null && loaded.groups.length > 0 && (
        <>
          <Totals groups={loaded.days} />
          {stacks === null ? (
            <div class="chart chart-empty" />
          ) : (
            <UsageChart stacks={stacks} models={models} measure={measureOf(stacks.flatMap(({ models: of }) => of))} />
          )}
          <UsageTable {...loaded} measure={measureOf(loaded.groups)} sort={sort} onSort={setSort} />
        </>
      )}
    </>
  );
}

async function load(client: AgentSessionClient, groupBy: string, period: Period, signal: AbortSignal): Promise<Loaded> {
  const window = { from: period.from.toISOString(), to: period.to.toISOString() };
  const read = (by: string): Promise<UsageGroup[]> =>
    Array.fromAsync(client.eachUsage({ ...window, group_by: by, limit: 100 }, { signal }));
  const [groups, days] = await Promise.all([read(groupBy), groupBy === 'day' ? null : read('day')]);
  const sessions = new Map<string, Session>();
  if (groupBy === 'session') {
    // Their titles, of those that were active last; the others show their ids.
    const { items } = await client.listSessions({ order: 'activity', limit: 100 }, { signal });
    for (const session of items) sessions.set(session.id, session);
  }
  return { groupBy, groups, days: days ?? groups, sessions };
}

function Totals({ groups }: { groups: UsageGroup[] }) {
  const measure = measureOf(groups);
  const sum = (of: (usage: UsageGroup) => number): number => groups.reduce((all, usage) => all + of(usage), 0);
  const [input, cached] = [
    sum(({ input_tokens }) => input_tokens),
    sum(({ cache_read_input_tokens }) => cache_read_input_tokens),
  ];
  const turns = sum(({ turns: count }) => count);
  const tiles: [string, string, string][] = [
    [
      'Cost',
      measure.name === 'cost' ? measure.format(sum(measure.of)) : 'no price',
      perTurn(measure, sum(measure.of), turns),
    ],
    ['Turns', formatNumber(turns), `${formatNumber(sum(({ model_calls }) => model_calls))} model calls`],
    ['Tokens in', formatNumber(input), `${input === 0 ? 0 : Math.round((100 * cached) / input)} % from cache`],
    ['Tokens out', formatNumber(sum(({ output_tokens }) => output_tokens)), ''],
  ];
  return (
    <dl class="tiles">
      {tiles.map(([name, value, more]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <strong>{value}</strong> <span class="hint">{more}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function perTurn({ name, format }: ReturnType<typeof measureOf>, total: number, turns: number): string {
  return name === 'cost' && turns > 0 ? `${format(total / turns)} a turn` : '';
}
