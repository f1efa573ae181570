import { defineSignal, setHandler, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import { ASKING_SIGNAL, SEARCH_ATTRIBUTES, type AskingCall } from './contract.js';

const WAITS_FOR = defineSearchAttributeKey(SEARCH_ATTRIBUTES.waitsFor, 'KEYWORD');
const asking = defineSignal<[AskingCall]>(ASKING_SIGNAL);

interface Hooks {
  /** False for a call that has ended: a signal about it comes late. */
  isOpen: (call: AskingCall) => boolean;
  /** The calls that wait for a person have changed. */
  onAsking: (indices: number[]) => void;
}

/** Keeps the search attribute `WaitsFor`: set when what the turn waits for changes, not at each poll. */
export class WaitsFor {
  #answer = false;
  #task = false;
  #child = false;
  /** Calls of the step whose servers have asked the person. */
  readonly #asking = new Set<number>();

  #onAsking: Hooks['onAsking'] = () => undefined;

  constructor(private readonly searchable: boolean) {}

  listen({ isOpen, onAsking }: Hooks): void {
    this.#onAsking = onAsking;
    onAsking([...this.#asking]);
    setHandler(asking, (call) => {
      if (!call.asks) this.endAsking(call.index);
      else if (isOpen(call)) this.#asks(call.index);
    });
  }

  answer(waits: boolean): void {
    this.#answer = waits;
    this.#update();
  }

  task(waits: boolean): void {
    this.#task = waits;
    this.#update();
  }

  /** Calls wait for turns of other agents. */
  child(waits: boolean): void {
    this.#child = waits;
    this.#update();
  }

  /** The call waits for no person any more. */
  endAsking(index: number): void {
    if (this.#asking.delete(index)) this.#changed();
  }

  #asks(index: number): void {
    this.#asking.add(index);
    this.#changed();
  }

  #changed(): void {
    this.#onAsking([...this.#asking]);
    this.#update();
  }

  #update(): void {
    if (!this.searchable) return;
    const value = this.#answer || this.#asking.size > 0 ? 'answer' : this.#task ? 'task' : this.#child ? 'child' : null;
    const current = workflowInfo().typedSearchAttributes.get(WAITS_FOR) ?? null;
    if (current !== value) upsertSearchAttributes([{ key: WAITS_FOR, value }]);
  }
}
