import type { Session, UsageGroup } from '../../../client/src/index.js';
import { exactMoney, formatMoney, formatNumber } from '../parts/format.js';
import { titleOf } from '../sessions/title.js';
import type { Measure } from './measure.js';

export type Sort = 'group' | 'cost' | 'turns' | 'input' | 'output';

const COLUMNS: [Sort, string][] = [
  ['cost', 'Cost'],
  ['turns', 'Turns'],
  ['input', 'Tokens in'],
  ['output', 'Tokens out'],
];

interface Props {
  groupBy: string;
  groups: UsageGroup[];
  measure: Measure;
  /** By their ids, where the groups are sessions. */
  sessions: ReadonlyMap<string, Session>;
  sort: Sort;
  onSort: (sort: Sort) => void;
}

/** So many rows are drawn; the CSV has all. */
const ROWS = 200;

export function UsageTable({ groupBy, groups, measure, sessions, sort, onSort }: Props) {
  const title = titleOfGroups(groupBy);
  const largest = Math.max(...groups.map(measure.of));
  const sorted = sortGroups(groups, sort, measure);
  return (
    <div class="table-box" role="region" aria-label="Usage" tabIndex={0}>
      <table class="grid usage">
        <thead>
          <tr>
            <Head name="group" label={title} sort={sort} onSort={onSort} />
            {COLUMNS.map(([name, label]) => (
              <Head key={name} name={name} label={label} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, ROWS).map((usage) => (
            <tr key={usage.group}>
              <th scope="row">
                <GroupName groupBy={groupBy} group={usage.group} title={title} sessions={sessions} />
              </th>
              <td class="col-number col-bar" title={usage.cost === null ? undefined : exactMoney(usage.cost)}>
                <span class="share" style={{ width: `${largest === 0 ? 0 : (100 * measure.of(usage)) / largest}%` }} />
                {usage.cost === null ? 'no price' : formatMoney(usage.cost)}
              </td>
              <td class="col-number">{formatNumber(usage.turns)}</td>
              <td class="col-number">{formatNumber(usage.input_tokens)}</td>
              <td class="col-number">{formatNumber(usage.output_tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {groups.length > ROWS && (
        <p class="hint">
          The first {ROWS} of {formatNumber(groups.length)}. The CSV has all.
        </p>
      )}
    </div>
  );
}

function Head({ name, label, sort, onSort }: { name: Sort; label: string } & Pick<Props, 'sort' | 'onSort'>) {
  const isSorted = sort === name;
  return (
    <th
      scope="col"
      class={name === 'group' ? undefined : 'col-number'}
      aria-sort={isSorted ? (name === 'group' ? 'ascending' : 'descending') : 'none'}
    >
      <button class="sort" onClick={() => onSort(name)}>
        {label} {isSorted && <span aria-hidden="true">{name === 'group' ? '↑' : '↓'}</span>}
      </button>
    </th>
  );
}

interface GroupNameProps extends Pick<Props, 'groupBy' | 'sessions'> {
  group: string | null;
  title: string;
}

function GroupName({ groupBy, group, title, sessions }: GroupNameProps) {
  if (group === null) return <span class="hint">without {title}</span>;
  if (groupBy !== 'session') return <span class="clip">{group}</span>;
  const session = sessions.get(group);
  return (
    <a href={`#/sessions/${group}`} title={group}>
      {session === undefined ? group : titleOf(session)}
    </a>
  );
}

export function titleOfGroups(groupBy: string): string {
  return groupBy.startsWith('metadata.')
    ? groupBy.slice('metadata.'.length)
    : groupBy[0]!.toUpperCase() + groupBy.slice(1);
}

export function sortGroups(groups: readonly UsageGroup[], sort: Sort, measure: Measure): UsageGroup[] {
  const size: Record<Exclude<Sort, 'group'>, (usage: UsageGroup) => number> = {
    cost: measure.of,
    turns: ({ turns }) => turns,
    input: ({ input_tokens: tokens }) => tokens,
    output: ({ output_tokens: tokens }) => tokens,
  };
  // They come in the order of their names.
  if (sort === 'group') return [...groups];
  return groups.toSorted((a, b) => size[sort](b) - size[sort](a));
}
