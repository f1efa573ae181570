import { patched, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from './contract.js';

const WAITS_FOR = defineSearchAttributeKey(SEARCH_ATTRIBUTES.waitsFor, 'KEYWORD');

/** Keeps the search attribute `WaitsFor`: set when what the turn waits for changes, not at each poll. */
export class WaitsFor {
  #answer = false;
  #task = false;
  #showsTasks: boolean | undefined;

  constructor(private readonly searchable: boolean) {}

  answer(waits: boolean): void {
    this.#answer = waits;
    this.#update();
  }

  task(waits: boolean): void {
    if (!this.searchable) return;
    // Asked once: a turn that waited for a task before this was built keeps its history.
    this.#showsTasks ??= patched('waits-for-task');
    this.#task = waits && this.#showsTasks;
    this.#update();
  }

  #update(): void {
    if (!this.searchable) return;
    const value = this.#answer ? 'answer' : this.#task ? 'task' : null;
    const current = workflowInfo().typedSearchAttributes.get(WAITS_FOR) ?? null;
    if (current !== value) upsertSearchAttributes([{ key: WAITS_FOR, value }]);
  }
}
