import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { ApiResponse } from '../client.js';
import type { FaultCalls } from '../fault-calls.js';
import { RETRY_PAUSE_MS, watchOver, type Turn } from '../fault-client.js';
import { openSse } from '../sse-reader.js';
import type { Entry, SessionEntry, WatchedFrame } from './ledger.js';
import type { Outside } from './outside.js';

const POLL_MS = 300;
/** A client that waits longer than this for anything reports it: every fault is over by then. */
const TALK_TIMEOUT_MS = 600_000;

/** The client of one conversation. It writes down what it did and what it saw. */
export class Talk {
  constructor(
    readonly key: string,
    readonly number: number,
    readonly entry: Entry,
    readonly outside: Outside,
    private readonly calls: FaultCalls,
    private readonly urls: () => string,
    /** Ends what is under way, because the database will be another one. */
    private readonly closed: AbortSignal,
  ) {}

  /** One request that succeeds; repeated until it is answered. */
  async ask(method: string, path: string, body?: unknown, apiKey?: string): Promise<ApiResponse['body']> {
    const answer = await this.calls.insist(method, path, body, apiKey);
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).to.be.within(200, 299);
    return answer.body;
  }

  /** As `ask`, without the expectation. */
  tryTo(method: string, path: string, body?: unknown): Promise<ApiResponse> {
    return this.calls.insist(method, path, body);
  }

  async session(body: Record<string, unknown> = {}): Promise<SessionEntry> {
    return this.joins(await this.calls.session(body));
  }

  /** Writes down a session that this client did not create itself. */
  joins(id: string): SessionEntry {
    const session: SessionEntry = {
      ...{ id, at: performance.now(), messages: [], watched: [], copied: [], appends: false },
      ends: ['turn.completed'],
    };
    this.entry.sessions.push(session);
    return session;
  }

  /** Sends a message and returns its turn. */
  async send(session: SessionEntry, content = this.key, more: object = {}, apiKey?: string): Promise<Turn> {
    const path = `/v1/sessions/${session.id}/messages`;
    const { turn_id } = await this.ask('POST', path, { content, ...more }, apiKey);
    session.messages.push({ content, at: performance.now() });
    return { sessionId: session.id, turnId: turn_id as string };
  }

  /** Sends a message and watches its turn to the end. */
  async run(session: SessionEntry, content = this.key, apiKey?: string): Promise<void> {
    await this.watch(session, await this.send(session, content, {}, apiKey), apiKey);
  }

  async watch(session: SessionEntry, turn: Turn, apiKey = this.calls.key): Promise<void> {
    const watched = this.within(`the end of ${turn.turnId}`, watchOver(this.urls, apiKey, turn, this.closed));
    session.watched.push((await watched).frames as WatchedFrame[]);
  }

  /** Watches the stream of the session until the session is at rest. */
  async follow(session: SessionEntry): Promise<void> {
    const frames: WatchedFrame[] = [];
    session.watched.push(frames);
    for (;;) {
      const url = `${this.urls()}/v1/sessions/${session.id}/events/stream?follow=session`;
      const stream = await openSse(url, this.calls.key, frames.at(-1)?.id).catch(() => null);
      if (stream?.status === 200) {
        let isOver = false;
        void stream.ended.then(() => (isOver = true));
        while (!isOver && !(await this.hasSeenAll(session, [...frames, ...stream.frames]))) await sleep(POLL_MS);
        stream.close();
        frames.push(...stream.frames);
        if (await this.hasSeenAll(session, frames)) return;
      }
      this.stopIfClosed();
      await sleep(RETRY_PAUSE_MS);
    }
  }

  /**
   * Waits for a required action of this type, and answers it. A turn whose call was lost with its worker ends without one: the outcome
   * of the call is unknown.
   */
  async act(
    session: SessionEntry,
    type: string,
    answer: (action: ApiResponse['body']) => Promise<unknown>,
  ): Promise<void> {
    const found = await this.until(`${type} of ${session.id}`, async () => {
      const { required_actions, status } = await this.ask('GET', `/v1/sessions/${session.id}`);
      const action = (required_actions as ApiResponse['body'][]).find((one) => one.type === type);
      if (action !== undefined) return { action };
      return status === 'RUNNING' ? null : {};
    });
    if (found.action !== undefined) await answer(found.action);
  }

  answer(session: SessionEntry, event: object): Promise<ApiResponse['body']> {
    return this.ask('POST', `/v1/sessions/${session.id}/events`, { events: [event] });
  }

  /** Polls until there is a value. */
  async until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
    for (const deadline = performance.now() + TALK_TIMEOUT_MS; performance.now() < deadline;) {
      this.stopIfClosed();
      const found = await look();
      if (found !== null) return found;
      await sleep(POLL_MS);
    }
    throw new Error(`${this.key} waited in vain for ${what}`);
  }

  private async within<T>(what: string, work: Promise<T>): Promise<T> {
    const end = new AbortController();
    const late = sleep(TALK_TIMEOUT_MS, undefined, { signal: end.signal }).then(() => {
      throw new Error(`${this.key} waited in vain for ${what}`);
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([work, late]);
    } finally {
      end.abort();
      this.stopIfClosed();
    }
  }

  private async hasSeenAll(session: SessionEntry, frames: WatchedFrame[]): Promise<boolean> {
    this.stopIfClosed();
    if (!/^turn\.(completed|cancelled|failed)$/.test(frames.at(-1)?.event ?? '')) return false;
    const { status, queue } = await this.ask('GET', `/v1/sessions/${session.id}`);
    return status !== 'RUNNING' && queue.length === 0;
  }

  private stopIfClosed(): void {
    if (this.closed.aborted) throw new Error(`${this.key} was interrupted`);
  }
}
