import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from './eventually.js';
import type { FaultSystem } from './fault-system.js';
import { text, toolUse, type Reply } from './scripted-model.js';
import type { StoredEvent } from './turn-checker.js';

type Mode = 'queue' | 'steer';

interface Receipt {
  id: string;
  turnId: string;
  mode: Mode;
}

/** Messages with "look" make the model call a tool first: their turn has a boundary at which it can be steered. */
export function answerSlowly(system: FaultSystem, everyMs: number): void {
  const said = (): Reply => text('one two three four five six seven eight nine ten', { every: everyMs });
  system.model.script(({ userText, step }) =>
    userText.includes('look') && step === 0 ? [text('I look now', { every: everyMs }), toolUse('list_files')] : said(),
  );
}

/** Somebody who talks to one session, one message after the other, whatever its turn does. */
export class Talker {
  readonly #receipts: Receipt[] = [];

  private constructor(
    private readonly system: FaultSystem,
    readonly sessionId: string,
  ) {}

  static async begin(system: FaultSystem): Promise<Talker> {
    return new Talker(system, await system.session());
  }

  /** How many of its messages were accepted. */
  get accepted(): number {
    return this.#receipts.length;
  }

  /** Sends a message until it is accepted, once. */
  async say(content: string, mode: Mode): Promise<void> {
    for (;;) {
      const body = { content, when_running: mode };
      const answer = await this.system.insist('POST', `/v1/sessions/${this.sessionId}/messages`, body);
      if (answer.status === 201) {
        const { id, turn_id: turnId } = answer.body as { id: string; turn_id: string };
        this.#receipts.push({ id, turnId, mode });
        return;
      }
      expect(answer.body.error.type).to.equal('queue_full');
      await sleep(200);
    }
  }

  /** Waits until nothing waits and no turn is open; releases what a failed turn holds. */
  async settled(timeoutMs: number): Promise<void> {
    await eventually(
      `${this.sessionId} is idle`,
      async () => {
        const { body } = await this.system.insist('GET', `/v1/sessions/${this.sessionId}`);
        if (body.queue.state === 'held')
          await this.system.insist('POST', `/v1/sessions/${this.sessionId}/queue/release`);
        return body.queue.length === 0 && body.status !== 'RUNNING';
      },
      timeoutMs,
    );
  }

  /** Expects each accepted message in the history exactly once, those that queued and those that steered one turn in order. */
  async check(): Promise<StoredEvent[]> {
    const messages = (await this.system.history(this.sessionId)).filter(({ type }) => type === 'user.message');
    const ids = messages.map(({ id }) => id as string);
    expect([...ids].sort()).to.deep.equal(this.#receipts.map(({ id }) => id).sort());
    const laneOf = ({ mode, turnId }: Receipt): string => (mode === 'queue' ? mode : turnId);
    for (const lane of new Set(this.#receipts.map(laneOf))) {
      const places = this.#receipts.filter((one) => laneOf(one) === lane).map(({ id }) => ids.indexOf(id));
      expect(places).to.deep.equal([...places].sort((a, b) => a - b));
    }
    return messages;
  }
}
