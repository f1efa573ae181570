import { useEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../../../client/src/index.js';
import { formatMoney, formatNumber } from '../parts/format.js';
import { Icon } from '../parts/icon.js';
import { memo } from '../parts/memo.js';
import { SessionStatus } from '../parts/status.js';
import { Time } from '../parts/time.js';
import { PHONE, useMedia } from '../parts/use-media.js';
import { useVisibleRows } from '../parts/use-visible-rows.js';
import { navigate } from '../route.js';
import { useKeys } from '../shell/use-keys.js';
import { titleOf } from './title.js';

type Order = 'activity' | 'created';

/** In pixels, as in the styles: rows have the same height, so that those out of sight need not be there. */
const ROW_HEIGHT = 44;
const PHONE_ROW_HEIGHT = 68;

interface Props {
  sessions: Session[];
  order: Order;
  busy: boolean;
  hasMore: boolean;
  /** The filter as a query of an address, which a session's page keeps for the list beside it. */
  search: string;
  onOrder: (order: Order) => void;
  onMetadata: (pair: string) => void;
  /** The last of these sessions is in sight. */
  onEnd: () => void;
}

export function SessionTable({ sessions, order, busy, hasMore, search, onOrder, onMetadata, onEnd }: Props) {
  const body = useRef<HTMLTableSectionElement>(null);
  const height = useMedia(PHONE) ? PHONE_ROW_HEIGHT : ROW_HEIGHT;
  const { start, end } = useVisibleRows(body, sessions.length, height);
  const [chosen, setChosen] = useState<number | null>(null);
  const isAtEnd = end >= sessions.length - 1;
  useEffect(() => {
    if (isAtEnd && hasMore && !busy) onEnd();
  }, [isAtEnd, hasMore, busy]);

  const choose = (index: number): void => {
    const next = Math.min(Math.max(0, index), sessions.length - 1);
    setChosen(next);
    const top = body.current!.getBoundingClientRect().top + next * height;
    if (top < 120) scrollBy(0, top - 120);
    else if (top + height > innerHeight - 60) scrollBy(0, top + height - innerHeight + 60);
  };
  useKeys({
    j: () => choose((chosen ?? -1) + 1),
    k: () => choose((chosen ?? 1) - 1),
    ...(chosen !== null &&
      document.activeElement?.matches('a, button') !== true && {
        Enter: () => navigate(`/sessions/${sessions[chosen]!.id}${search}`),
      }),
  });

  return (
    <>
      <table class="grid sessions" aria-label="Sessions" aria-rowcount={hasMore ? -1 : sessions.length + 1}>
        <thead>
          <tr>
            <th scope="col" class="col-status">
              Status
            </th>
            <th scope="col">Session</th>
            <th scope="col" class="col-model">
              Model
            </th>
            <th scope="col" class="col-turns">
              Turns
            </th>
            <th scope="col" class="col-number">
              Cost
            </th>
            <th scope="col" class="col-time col-wait">
              Waiting since
            </th>
            <th scope="col" class="col-time col-created" aria-sort={order === 'created' ? 'descending' : 'none'}>
              <button class="sort" onClick={() => onOrder('created')}>
                Created {order === 'created' && <Down />}
              </button>
            </th>
            <th scope="col" class="col-time" aria-sort={order === 'activity' ? 'descending' : 'none'}>
              <button class="sort" onClick={() => onOrder('activity')}>
                Last activity {order === 'activity' && <Down />}
              </button>
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          {start > 0 && <Space height={start * height} />}
          {sessions.slice(start, end).map((session, index) => (
            <Row
              key={session.id}
              session={session}
              index={start + index}
              isChosen={chosen === start + index}
              search={search}
              onMetadata={onMetadata}
            />
          ))}
          {end < sessions.length && <Space height={(sessions.length - end) * height} />}
        </tbody>
      </table>
      <p class="hint table-end" role="status">
        {hasMore ? 'Loading more …' : `${sessions.length} ${sessions.length === 1 ? 'session' : 'sessions'}`}
      </p>
    </>
  );
}

function Down() {
  return <span aria-hidden="true">↓</span>;
}

function Space({ height }: { height: number }) {
  return (
    <tr aria-hidden="true">
      <td colSpan={8} class="space" style={{ height: `${height}px` }} />
    </tr>
  );
}

interface RowProps {
  session: Session;
  index: number;
  isChosen: boolean;
  search: string;
  onMetadata: (pair: string) => void;
}

const MAX_TAGS = 3;

const Row = memo(
  function Row({ session, index, isChosen, search, onMetadata }: RowProps) {
    const { id, metadata, preview, model_id, cost, queue, turn_count, waiting_since, forked_from } = session;
    const { title, ...others } = metadata;
    const tags = Object.entries(others);
    return (
      <tr aria-rowindex={index + 2} class={isChosen ? 'chosen' : undefined}>
        <td class="col-status">
          <SessionStatus session={session} />
        </td>
        <td class="col-title">
          <div class="title-line">
            <a class="row-link" href={`#/sessions/${id}${search}`}>
              {titleOf(session)}
            </a>
            {forked_from !== null && (
              <span class="tag" title={`A copy of ${forked_from.session_id}`}>
                <Icon name="fork" size={12} /> fork
              </span>
            )}
            {queue.length > 0 && (
              <span class="tag">
                <Icon name="clock" size={12} /> {queue.length} {queue.state === 'held' ? 'held' : 'queued'}
              </span>
            )}
            {tags.slice(0, MAX_TAGS).map(([key, value]) => (
              <button
                key={key}
                class="tag"
                title={`Show sessions with ${key}=${value}`}
                onClick={() => onMetadata(`${key}=${value}`)}
              >
                {key}: {value}
              </button>
            ))}
            {tags.length > MAX_TAGS && <span class="hint">+{tags.length - MAX_TAGS}</span>}
            {title !== undefined && preview !== null && <span class="hint preview">{preview}</span>}
          </div>
        </td>
        <td class="col-model">
          <span class="clip">{model_id}</span>
        </td>
        <td class="col-turns">{formatNumber(turn_count)}</td>
        <td class="col-number">{cost === null ? <span class="hint">–</span> : formatMoney(cost)}</td>
        <td class="col-time col-wait">{waiting_since !== null && <Time at={waiting_since} />}</td>
        <td class="col-time col-created">
          <Time at={session.created_at} />
        </td>
        <td class="col-time">
          <Time at={session.updated_at} />
        </td>
      </tr>
    );
  },
  ['onMetadata'],
);
