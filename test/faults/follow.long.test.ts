import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { RETRY_PAUSE_MS } from '../support/fault-client.js';
import type { FaultSystem } from '../support/fault-system.js';
import { RandomKiller, type Victim } from '../support/random-killer.js';
import { openSse, type SseFrame, type SseReader } from '../support/sse-reader.js';
import { answerSlowly, Talker } from '../support/talker.js';
import { useFaultSystem } from '../support/use.js';

const KILLS = Number(process.env.FOLLOW_KILLS ?? 16);
const TALKERS = 4;
const KILL_MS = 15_000;
const SETTLE_MS = 120_000;
const MAX_PAUSE_MS = 1_500;

/** Reads a stream of the session; whenever it ends, goes on after its last frame with the other API. */
class Follower {
  #frames: SseFrame[] = [];
  #stream: SseReader | null = null;
  #isOver = false;
  connections = 0;

  constructor(
    private readonly system: FaultSystem,
    private readonly sessionId: string,
    private readonly after: string,
  ) {}

  get frames(): SseFrame[] {
    return [...this.#frames, ...(this.#stream?.frames ?? [])];
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const { url } = this.system.apis[this.connections++ % this.system.apis.length]!;
      const path = `/v1/sessions/${this.sessionId}/events/stream?follow=session&after=${this.after}`;
      this.#stream = await openSse(url + path, this.system.key, this.frames.at(-1)?.id).catch(() => null);
      if (this.#isOver) this.#stream?.close();
      await this.#stream?.ended;
      this.#frames = this.frames;
      this.#stream = null;
      await sleep(RETRY_PAUSE_MS);
    }
  }

  end(): void {
    this.#isOver = true;
    this.#stream?.close();
  }
}

/** docs/decisions.md "Session stream": every stored event once and in order, whatever dies. */
describe('streams of sessions while API processes and workers are killed', () => {
  const system = useFaultSystem({ apis: 2, workers: 2 });

  it(`streams of sessions, with ${KILLS} kills at random, show what the history has, each event once, in order`, async function () {
    this.timeout(KILLS * KILL_MS + 3 * SETTLE_MS);
    answerSlowly(system, 20);
    const talkers = await Promise.all(Array.from({ length: TALKERS }, () => Talker.begin(system)));
    const followers = await Promise.all(
      talkers.map(async (talker) => {
        await talker.say('Begin', 'queue');
        const [first] = await system.history(talker.sessionId);
        return new Follower(system, talker.sessionId, first.id as string);
      }),
    );
    const following = followers.map((follower) => follower.run());
    const killer = new RandomKiller(
      new Map<Victim, number>([...system.apis, ...system.workers].map((each) => [each, 1])),
    );
    const talking = (goesOn: () => boolean) =>
      talkers.map(async (talker) => {
        for (let n = 0; goesOn(); n += 1) {
          const look = Math.random() < 0.5 ? ', look' : '';
          await talker.say(`Message ${n}${look}`, Math.random() < 0.7 ? 'queue' : 'steer');
          // Sometimes the session is idle for a while, so that the stream waits for a turn.
          await sleep(Math.random() < 0.2 ? 3 * MAX_PAUSE_MS : Math.random() * MAX_PAUSE_MS);
        }
      });
    await killer.killDuring(KILLS, talking, { maxPauseMs: MAX_PAUSE_MS });
    await Promise.all(talkers.map((talker) => talker.settled(SETTLE_MS)));
    let events = 0;
    for (const [index, talker] of talkers.entries()) {
      const follower = followers[index]!;
      const history = (await system.history(talker.sessionId)).slice(1);
      const isStored = ({ event }: SseFrame): boolean => !event.endsWith('.delta');
      const isLast = ({ data }: SseFrame): boolean => data.id === history.at(-1).id;
      await eventually('the stream has the last event', () => follower.frames.some(isLast), SETTLE_MS);
      expect(follower.frames.filter(isStored).map(({ data }) => data as unknown)).to.deep.equal(history);
      events += history.length;
    }
    for (const follower of followers) follower.end();
    await Promise.all(following);
    const connections = followers.reduce((sum, follower) => sum + follower.connections, 0);
    expect(connections).to.be.greaterThan(TALKERS);
    console.log(`      ${killer.kills} kills, ${connections} connections of ${TALKERS} streams, ${events} events`);
  });
});
