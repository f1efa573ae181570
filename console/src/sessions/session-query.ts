import type { SessionFilter } from '../../../client/src/index.js';

type Status = NonNullable<SessionFilter['status']>;

/** The chips above the list. Each is a filter by itself. */
export const CHIPS: readonly {
  id: string;
  label: string;
  filter: Pick<SessionFilter, 'status' | 'requires_action'>;
}[] = [
  { id: '', label: 'All', filter: {} },
  { id: 'waiting', label: 'Waiting for an answer', filter: { requires_action: true } },
  ...(
    [
      ['RUNNING', 'Running'],
      ['COMPLETE', 'Complete'],
      ['FAILED', 'Failed'],
      ['CANCELLED', 'Cancelled'],
      ['IDLE', 'Idle'],
    ] as const satisfies [Status, string][]
  ).map(([status, label]) => ({ id: status.toLowerCase(), label, filter: { status } })),
];

/** What the address says of the list, as texts: `#/sessions?q=…&show=failed&order=created&metadata=team=red&from=…&to=…`. */
export interface ListQuery {
  q: string;
  show: string;
  order: string;
  metadata: string;
  from: string;
  to: string;
  /** Id of an agent. */
  agent: string;
}

export function readQuery(query: URLSearchParams): ListQuery {
  const read = (name: string): string => query.get(name) ?? '';
  return {
    q: read('q'),
    show: CHIPS.some(({ id }) => id === read('show')) ? read('show') : '',
    order: read('order') === 'created' ? 'created' : '',
    metadata: read('metadata').includes('=') ? read('metadata') : '',
    from: dayOf(read('from')),
    to: dayOf(read('to')),
    agent: read('agent').startsWith('agent_') ? read('agent') : '',
  };
}

/** As the address has it: `?show=failed&q=late`, or nothing. */
export function searchOf(query: ListQuery): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

/** The filters in words: `Failed, customer=42`. */
export function describeQuery({ q, show, metadata, from, to, agent }: ListQuery): string {
  const period = [from !== '' && `from ${from}`, to !== '' && `to ${to}`].filter(Boolean).join(' ');
  return [
    show === '' ? '' : CHIPS.find(({ id }) => id === show)!.label,
    q === '' ? '' : `“${q}”`,
    metadata,
    agent === '' ? '' : 'of one agent',
    period === '' ? '' : `created ${period}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

export function filterOf({ q, show, order, metadata, from, to, agent }: ListQuery): SessionFilter {
  return {
    order: order === 'created' ? 'created' : 'activity',
    ...CHIPS.find(({ id }) => id === show)!.filter,
    ...(q.trim() !== '' && { q: q.trim().slice(0, 200) }),
    ...(metadata !== '' && { metadata: pairOf(metadata) }),
    ...(agent !== '' && { agent_id: agent }),
    ...(from !== '' && { created_after: new Date(midnight(from).getTime() - 1).toISOString() }),
    ...(to !== '' && { created_before: midnight(to, 1).toISOString() }),
  };
}

export function isFiltered({ order: _, ...filters }: ListQuery): boolean {
  return Object.values(filters).some((value) => value !== '');
}

function dayOf(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : '';
}

/** The begin of a day of the reader's, or of one of the days after it. */
function midnight(day: string, daysLater = 0): Date {
  const [year, month, date] = day.split('-').map(Number) as [number, number, number];
  return new Date(year, month - 1, date + daysLater);
}

function pairOf(text: string): Record<string, string> {
  const at = text.indexOf('=');
  return { [text.slice(0, at)]: text.slice(at + 1) };
}
