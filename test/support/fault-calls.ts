import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Database } from '../../src/db/db.js';
import type { ApiResponse } from './client.js';
import { request, RETRY_PAUSE_MS, watchOver, type Turn } from './fault-client.js';
import type { RoleProcess } from './role-process.js';
import { openSse, type SseReader } from './sse-reader.js';
import { checkTurns, type Evidence, type StoredEvent, type Watched } from './turn-checker.js';

/** A client of the system that does what a good client does when something is away. */
export interface FaultCalls {
  /** The API key that calls use unless another one is given. */
  key: string;
  /** One request to the API of that number, without a second try. */
  ask(api: number, method: string, path: string, body?: unknown): Promise<ApiResponse>;
  /** Asks any API until one answers with something other than "later". */
  insist: (method: string, path: string, body?: unknown, key?: string) => Promise<ApiResponse>;
  session(body?: Record<string, unknown>, key?: string): Promise<string>;
  /** Sends a message until it is accepted, once. */
  send(sessionId: string, content: string, key?: string): Promise<Turn>;
  /** Sends a message in a new session, and watches its turn. */
  begin(content: string, session?: Record<string, unknown>): Promise<Turn>;
  /** Watches a turn to its end, with reconnects to any API. */
  watch(turn: Turn): Promise<Watched>;
  /** One connection to a turn's stream. */
  stream(turn: Turn): Promise<SseReader>;
  history(sessionId: string, key?: string): Promise<StoredEvent[]>;
  /** The terminal event of a turn, when it is there. */
  ended(turn: Turn, timeoutMs?: number): Promise<StoredEvent>;
  /** Waits for the end of every accepted turn and every watcher, and has the checker judge; returns the terminal events. */
  verify(timeoutMs?: number): Promise<StoredEvent[]>;
}

interface Processes {
  apis: readonly RoleProcess[];
  workers: readonly RoleProcess[];
  db: Database;
  key: string;
  /** The `model_id` of new sessions. */
  model: string;
  closed: AbortSignal;
}

const LATER = new Set([429, 502, 503]);

export function faultCalls({ apis, workers, db, key: defaultKey, model, closed }: Processes): FaultCalls {
  const keys = new Map<string, string>();
  const accepted: Turn[] = [];
  const watching: Promise<Watched>[] = [];
  let next = 0;
  const logs = (): string =>
    [...apis, ...workers].map((each) => `--- ${each.role}\n${each.log().slice(-3000)}`).join('\n');

  const calls: FaultCalls = {
    key: defaultKey,
    ask: (api, method, path, body) => request(apis[api]!.url, defaultKey, method, path, body, randomUUID()),

    async insist(method, path, body, key = defaultKey) {
      const idempotencyKey = randomUUID();
      for (;;) {
        if (closed.aborted) throw new Error(`${method} ${path} had no answer before the system was closed`);
        const { url } = apis[next++ % apis.length]!;
        const answer = await request(url, key, method, path, body, idempotencyKey).catch(() => null);
        const again = answer === null || LATER.has(answer.status);
        if (!again && answer.headers.get('x-should-retry') !== 'true') return answer;
        await sleep(RETRY_PAUSE_MS);
      }
    },

    async session(body = {}, key = defaultKey) {
      const answer = await calls.insist(
        'POST',
        '/v1/sessions',
        { model_id: model, thinking_enabled: false, ...body },
        key,
      );
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
      keys.set(answer.body.id as string, key);
      return answer.body.id as string;
    },

    async send(sessionId, content, key = keys.get(sessionId)) {
      const answer = await calls.insist('POST', `/v1/sessions/${sessionId}/messages`, { content }, key);
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
      const turn = { sessionId, turnId: answer.body.turn_id as string };
      accepted.push(turn);
      return turn;
    },

    async begin(content, session = {}) {
      const turn = await calls.send(await calls.session(session), content);
      void calls.watch(turn);
      return turn;
    },

    watch(turn) {
      const watched = watchOver(
        () => apis[next++ % apis.length]!.url,
        keys.get(turn.sessionId) ?? defaultKey,
        turn,
        closed,
      );
      watching.push(watched);
      return watched;
    },

    stream: ({ sessionId }) =>
      openSse(`${apis[0]!.url}/v1/sessions/${sessionId}/events/stream`, keys.get(sessionId) ?? defaultKey),

    async history(sessionId, key = keys.get(sessionId)) {
      const events: StoredEvent[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const query = cursor === '' ? '' : `&cursor=${cursor}`;
        const { body } = await calls.insist(
          'GET',
          `/v1/sessions/${sessionId}/events?limit=100${query}`,
          undefined,
          key,
        );
        events.push(...body.items);
        cursor = body.meta.next_cursor as string | null;
      }
      return events;
    },

    async ended({ sessionId, turnId }, timeoutMs = 120_000) {
      const until = performance.now() + timeoutMs;
      for (;;) {
        const [row] = await db
          .query<{ state: string }[]>('SELECT state FROM turns WHERE id = $1', [turnId])
          .catch(() => []);
        if (row !== undefined && row.state !== 'queued' && row.state !== 'running') {
          return (await calls.history(sessionId)).findLast((event) => event.turn_id === turnId);
        }
        if (performance.now() > until) throw new Error(`${turnId} is ${row?.state} after ${timeoutMs} ms\n${logs()}`);
        await sleep(50);
      }
    },

    async verify(timeoutMs = 300_000) {
      const ends = await Promise.all(accepted.map((turn) => calls.ended(turn, timeoutMs)));
      const watched = await Promise.all(watching);
      const evidence: Evidence = { accepted, histories: new Map(), statuses: new Map(), watched };
      for (const { sessionId } of accepted) {
        if (evidence.histories.has(sessionId)) continue;
        const { body } = await calls.insist('GET', `/v1/sessions/${sessionId}`, undefined, keys.get(sessionId));
        evidence.statuses.set(sessionId, body.status as string);
        evidence.histories.set(sessionId, await calls.history(sessionId));
      }
      expect(checkTurns(evidence)).to.deep.equal([]);
      const [{ open }] = await db.query<[{ open: number }]>(
        `SELECT count(*)::integer AS open FROM turns WHERE state IN ('queued', 'running')`,
      );
      expect(open, 'turns left open').to.equal(0);
      return ends;
    },
  };
  return calls;
}
