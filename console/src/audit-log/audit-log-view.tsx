import { useEffect, useState } from 'preact/hooks';
import type { AuditEntry, AuditEntryQuery } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { CopyText } from '../parts/copy-text.js';
import { Empty } from '../parts/empty.js';
import { SelectField, TextField } from '../parts/fields.js';
import { ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { Status } from '../parts/status.js';
import { Time } from '../parts/time.js';
import { replaceQuery } from '../route.js';

const TEXTS = ['action', 'key_id', 'actor', 'resource_id'] as const;
const LABELS = { action: 'Action', key_id: 'Key', actor: 'Person', resource_id: 'About' } as const;
const PLACEHOLDERS = {
  action: 'sendAnswers',
  key_id: 'key_…',
  actor: 'jane@example.com',
  resource_id: 'mcp_…',
} as const;

type Filter = Record<(typeof TEXTS)[number] | 'outcome' | 'from' | 'to', string>;

/** Who changed what, newest first. The filters stand in the address of the page. */
export function AuditLogView({ query }: { query: URLSearchParams }) {
  const client = useClient();
  const [filter, setFilter] = useState<Filter>(() => filterOf(query));
  useEffect(() => replaceQuery(filter), [filter]);
  const list = useList(
    (cursor, signal) => client.listAuditEntries({ ...queryOf(filter), cursor, limit: 50 }, { signal }),
    [client, filter],
  );
  const set = (name: keyof Filter) => (value: string) => setFilter({ ...filter, [name]: value.trim() });
  return (
    <>
      <PageHead title="Audit log" />
      <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
        {TEXTS.map((name) => (
          <TextField
            key={name}
            label={LABELS[name]}
            placeholder={PLACEHOLDERS[name]}
            value={filter[name]}
            onChange={set(name)}
          />
        ))}
        <SelectField
          label="Outcome"
          value={filter.outcome}
          options={[
            ['', 'all'],
            ['ok', 'made'],
            ['refused', 'refused'],
          ]}
          onChange={set('outcome')}
        />
        <TextField label="From" type="date" value={filter.from} onChange={set('from')} />
        <TextField label="Before" type="date" value={filter.to} onChange={set('to')} />
      </form>
      <ListFrame
        list={list}
        label="Entries"
        empty={<Empty title="No entry matches">Each change of the project’s resources is one.</Empty>}
        row={(entry) => <Row key={entry.id} entry={entry} />}
      />
    </>
  );
}

function filterOf(query: URLSearchParams): Filter {
  const of = (name: string): string => query.get(name) ?? '';
  const { action, key_id, actor, resource_id } = Object.fromEntries(TEXTS.map((name) => [name, of(name)])) as Filter;
  return { action, key_id, actor, resource_id, outcome: of('outcome'), from: of('from'), to: of('to') };
}

/** Days begin where the person is. */
function queryOf({ from, to, outcome, ...texts }: Filter): AuditEntryQuery {
  const given = Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== ''));
  const midnight = (day: string): string => new Date(`${day}T00:00:00`).toISOString();
  return {
    ...given,
    ...(outcome !== '' && { outcome: outcome as 'ok' | 'refused' }),
    ...(from !== '' && { from: midnight(from) }),
    ...(to !== '' && { to: midnight(to) }),
  };
}

function Row({ entry }: { entry: AuditEntry }) {
  const { action, outcome, source, key_id, key_name, actor, resource, details, request_id: request } = entry;
  const facts = Object.entries(details);
  return (
    <li class="row">
      <span class="row-title">{action}</span>
      <Status look={outcome === 'ok' ? 'complete' : 'failed'}>{outcome === 'ok' ? 'Made' : 'Refused'}</Status>
      {resource !== null && <Resource resource={resource} />}
      <span class="hint">
        <Time at={entry.created_at} /> · {actor !== null && `${actor} · `}
        {key_id === null ? 'a command' : <a href={`#/keys/${key_id}`}>{key_name ?? key_id}</a>}
        {source === 'token' && ' with a session token'}
      </span>
      {request !== null && <CopyText text={request} label="request id" />}
      {facts.length > 0 && (
        <p class="row-more hint">
          {facts.map(([name, value]) => (
            <span key={name}>
              {name}: {Array.isArray(value) ? value.join(', ') || 'none' : String(value)}{' '}
            </span>
          ))}
        </p>
      )}
    </li>
  );
}

const PAGES: Record<string, string> = {
  session: 'sessions',
  mcp_server: 'mcp-servers',
  webhook: 'webhooks',
  schedule: 'schedules',
  key: 'keys',
};

/** The change that the entry belongs to: a link where the console has a page for it. */
function Resource({ resource: { type, id } }: { resource: NonNullable<AuditEntry['resource']> }) {
  const page = PAGES[type];
  if (page === undefined) return <CopyText text={id} label={`${type} id`} />;
  return <a href={`#/${page}/${id}`}>{id}</a>;
}
