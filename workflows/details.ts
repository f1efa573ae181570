import { defineSignal, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { WAITING_SIGNAL, type WaitingMessages } from './contract.js';

const changed = defineSignal<[WaitingMessages]>(WAITING_SIGNAL);

/** The current details of a turn in the Temporal UI: what it does, and how many messages wait. They have no other effect. */
export class Details {
  #progress = '';
  #questions = '';

  /** @param turn of a run that continues another one, which has no static details in Temporal: what they say of the turn */
  constructor(
    private waiting: WaitingMessages = { steering: 0, queued: 0 },
    private readonly turn: string | null = null,
  ) {
    setHandler(changed, (counts) => {
      this.waiting = counts;
      this.show(this.#progress);
    });
  }

  /** For the next run; undefined if nothing waits. */
  get counts(): WaitingMessages | undefined {
    return this.waiting.steering + this.waiting.queued > 0 ? this.waiting : undefined;
  }

  show(progress: string): void {
    this.#progress = progress;
    const { steering, queued } = this.waiting;
    const parts = [
      progress,
      ...(this.turn === null ? [] : [this.turn]),
      ...(this.#questions === '' ? [] : [this.#questions]),
      ...(steering > 0 ? [`${messages(steering)} for the next model call`] : []),
      ...(queued > 0 ? [`${messages(queued)} for later turns`] : []),
    ];
    setCurrentDetails(parts.join('\n\n'));
  }

  /** Calls wait for a person's answers to their servers. */
  showQuestions(tools: string, calls: number): void {
    const questions = calls === 0 ? '' : `waits for answers to questions of ${tools}`;
    if (questions === this.#questions) return;
    this.#questions = questions;
    this.show(this.#progress);
  }

  /** A model call begins: it gets the messages that steer the turn. */
  showModelCall(progress: string): void {
    this.waiting = { ...this.waiting, steering: 0 };
    this.show(progress);
  }
}

function messages(count: number): string {
  return count === 1 ? '1 message waits' : `${count} messages wait`;
}

/** Limit for a piece of text in `setCurrentDetails`, to keep it readable in the UI. */
const SHOWN_TOOLS = 5;

export function formatToolNames(tools: string[], indices: number[]): string {
  const more = indices.length - SHOWN_TOOLS;
  const shown = indices.slice(0, SHOWN_TOOLS).map((index) => tools[index]);
  return `tools ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
