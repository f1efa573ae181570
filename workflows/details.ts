import { setCurrentDetails } from '@temporalio/workflow';
import type { TurnInput } from './contract.js';

/** The current details of a turn in the Temporal UI: what it does, and whose questions it waits for. They have no other effect. */
export class Details {
  #progress = '';
  #questions = '';

  /** @param turn of a run that continues another one, which has no static details in Temporal: what they say of the turn */
  constructor(private readonly turn: string | null = null) {}

  show(progress: string): void {
    this.#progress = progress;
    const parts = [
      progress,
      ...(this.turn === null ? [] : [this.turn]),
      ...(this.#questions === '' ? [] : [this.#questions]),
    ];
    setCurrentDetails(parts.join('\n\n'));
  }

  /** Calls wait for a person's answers to their servers. */
  showAsking(tools: string, calls: number): void {
    const questions = calls === 0 ? '' : `waits for answers to questions of ${tools}`;
    if (questions === this.#questions) return;
    this.#questions = questions;
    this.show(this.#progress);
  }
}

/** Limit for a piece of text in `setCurrentDetails`, to keep it readable in the UI. */
const SHOWN_TOOLS = 5;

/** What offers tools to a turn, and must be asked before its first model call; null if nothing must. */
export function formatSources({ mcpServers, agents = 0 }: Pick<TurnInput, 'mcpServers' | 'agents'>): string | null {
  const sources = [
    ...(mcpServers > 0 ? [`${mcpServers} MCP servers`] : []),
    ...(agents > 0 ? [`${agents} agents`] : []),
  ];
  return sources.length === 0 ? null : sources.join(' and ');
}

/** Their workflows have these ids. */
export function formatChildren(turnIds: string[]): string {
  const more = turnIds.length - SHOWN_TOOLS;
  return `child turns ${turnIds.slice(0, SHOWN_TOOLS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

export function formatToolNames(tools: string[], indices: number[]): string {
  const more = indices.length - SHOWN_TOOLS;
  const shown = indices.slice(0, SHOWN_TOOLS).map((index) => tools[index]);
  return `tools ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
