import type Anthropic from '@anthropic-ai/sdk';
import type { DataSource } from 'typeorm';
import type { FileSnapshot } from '../../src/events/types.js';
import type { TurnState } from '../../src/turns/states.js';
import type { ResultBlock } from '../tools/tool.js';
import type { TurnContext } from '../turn-context.js';
import type { AssistantBlock } from './stream.js';

/** A turn as the model is told of it. */
export interface PastTurn {
  id: string;
  number: number;
  state: TurnState;
  content: string;
  files: FileSnapshot[];
  queuedAt: string;
  steps: PastStep[];
  /** What was streamed of a message that a cancel or a failure cut off. */
  cutOff: string | null;
}

export interface PastStep {
  content: AssistantBlock[];
  calls: PastCall[];
}

export interface PastCall {
  toolUseId: string;
  name: string;
  content: ResultBlock[] | null;
  isError: boolean;
}

/** What the model is told of a session: the summary of what came before, then turns in order, the current one last. */
export interface Conversation {
  summary: string | null;
  turns: PastTurn[];
}

interface TurnData {
  id: string;
  number: number;
  state: TurnState;
  content: string;
  files: FileSnapshot[];
  queued_at: string;
}

interface StepData {
  turn_id: string;
  step: number;
  content: AssistantBlock[];
}

interface CallData {
  turn_id: string;
  step: number;
  tool_use_id: string;
  name: string;
  content: ResultBlock[] | null;
  is_error: boolean | null;
}

/** Loads the conversation of a turn's session up to and with that turn, from the latest summary on. */
export async function loadConversation(db: DataSource, turn: TurnContext): Promise<Conversation> {
  const rows: (TurnData & { summary: string | null })[] = await db.query(
    `WITH latest AS (
       SELECT turn_number, summary FROM compactions WHERE session_id = $1 AND turn_number < $2
       ORDER BY turn_number DESC LIMIT 1)
     SELECT id, number, state, content, files, queued_at, summary FROM turns LEFT JOIN latest ON true
     WHERE session_id = $1 AND number > coalesce(turn_number, 0) AND number <= $2 ORDER BY number`,
    [turn.sessionId, turn.number],
  );
  const ids = rows.map((row) => row.id);
  const unfinished = rows.filter((row) => row.state === 'cancelled' || row.state === 'failed').map((row) => row.id);
  const [steps, calls, cut] = await Promise.all([
    db.query<StepData[]>(
      'SELECT turn_id, step, content FROM model_steps WHERE turn_id = ANY($1) ORDER BY turn_id, step',
      [ids],
    ),
    db.query<CallData[]>(
      `SELECT turn_id, step, tool_use_id, name, content, is_error FROM tool_calls
       WHERE turn_id = ANY($1) ORDER BY turn_id, step, index`,
      [ids],
    ),
    unfinished.length === 0 ? [] : cutOffMessages(db, unfinished),
  ]);
  const callsOf = grouped(calls, (call) => `${call.turn_id} ${call.step}`);
  const stepsOf = grouped(steps, (step) => step.turn_id);
  return {
    summary: rows[0]?.summary ?? null,
    turns: rows.map((row) => ({
      id: row.id,
      number: row.number,
      state: row.state,
      content: row.content,
      files: row.files,
      queuedAt: row.queued_at,
      cutOff: cut.find((one) => one.turn_id === row.id)?.content ?? null,
      steps: (stepsOf.get(row.id) ?? []).map((step) => ({
        content: step.content,
        calls: (callsOf.get(`${row.id} ${step.step}`) ?? []).map((call) => ({
          toolUseId: call.tool_use_id,
          name: call.name,
          content: call.content,
          isError: call.is_error ?? false,
        })),
      })),
    })),
  };
}

function cutOffMessages(db: DataSource, turnIds: string[]): Promise<{ turn_id: string; content: string }[]> {
  return db.query(
    `SELECT turn_id, data->>'content' AS content FROM events
     WHERE turn_id = ANY($1) AND type = 'agent.message' AND data->>'incomplete' = 'true'`,
    [turnIds],
  );
}

function grouped<T>(rows: T[], keyOf: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}

/** How blocks whose bytes are in storage, and names of tools, get into a request. */
export interface Rendering {
  /** Blocks of a tool's result with their bytes; one line of text for what cannot be had. */
  resultBlocks(
    blocks: ResultBlock[],
  ): Promise<(Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam)[]>;
  /** What the current message shows of its attached files besides their line. */
  attachments: Anthropic.ContentBlockParam[];
  /** The name under which the model knows a tool. */
  toolAlias(fullName: string): string;
}

const NO_RESULT: Record<'cancelled' | 'failed' | 'other', string> = {
  cancelled: 'Not completed: the turn was cancelled.',
  failed: 'Not completed: the turn failed.',
  other: 'Not completed.',
};

/**
 * The messages of a request. Whatever happened to earlier turns, every tool use is followed by its result, no text is
 * empty, and roles alternate: the API refuses a request otherwise.
 */
export async function toMessages(conversation: Conversation, rendering: Rendering): Promise<Anthropic.MessageParam[]> {
  const messages: Anthropic.MessageParam[] = [];
  if (conversation.summary !== null) {
    add(messages, 'user', [text(`<summary-of-earlier-turns>\n${conversation.summary}\n</summary-of-earlier-turns>`)]);
  }
  const current = conversation.turns.at(-1);
  let before: PastTurn | undefined;
  for (const turn of conversation.turns) {
    add(messages, 'user', userBlocks(turn, before, turn === current ? rendering.attachments : []));
    for (const step of turn.steps) {
      add(messages, 'assistant', assistantBlocks(step, rendering));
      add(messages, 'user', await resultsOf(step, turn, rendering));
    }
    if (turn.cutOff !== null && turn.cutOff.trim() !== '') add(messages, 'assistant', [text(turn.cutOff.trimEnd())]);
    before = turn;
  }
  return messages;
}

function userBlocks(
  turn: PastTurn,
  before: PastTurn | undefined,
  attachments: Anthropic.ContentBlockParam[],
): Anthropic.ContentBlockParam[] {
  const blocks: Anthropic.ContentBlockParam[] = [];
  const note = before === undefined ? null : noteOn(before);
  if (note !== null) blocks.push(text(note));
  const facts = [`Time of this message: ${turn.queuedAt.slice(0, 19)}Z`];
  for (const file of turn.files) {
    const { filename, id, mime_type, size_bytes } = file;
    facts.push(`Attached file: ${JSON.stringify(filename)} (file_id ${id}, ${mime_type}, ${size_bytes} bytes)`);
  }
  blocks.push(text(`<turn-facts>\n${facts.join('\n')}\n</turn-facts>`), ...attachments, text(turn.content));
  return blocks;
}

function noteOn(before: PastTurn): string | null {
  if (before.state === 'cancelled') return '[The previous turn was cancelled by the user before it was finished.]';
  return before.state === 'failed' ? '[The previous turn failed before it was finished.]' : null;
}

function assistantBlocks(step: PastStep, rendering: Rendering): Anthropic.ContentBlockParam[] {
  return step.content.flatMap((block): Anthropic.ContentBlockParam[] => {
    switch (block.type) {
      case 'text':
        return block.text.trim() === '' ? [] : [block];
      case 'tool_use': {
        const call = step.calls.find((one) => one.toolUseId === block.id);
        return [{ ...block, name: call === undefined ? block.name : rendering.toolAlias(call.name) }];
      }
      default:
        return [block];
    }
  });
}

async function resultsOf(
  step: PastStep,
  turn: PastTurn,
  rendering: Rendering,
): Promise<Anthropic.ToolResultBlockParam[]> {
  const uses = step.content.filter((block) => block.type === 'tool_use');
  return Promise.all(
    uses.map(async (use) => {
      const call = step.calls.find((one) => one.toolUseId === use.id);
      if (call?.content == null) {
        const why = turn.state === 'cancelled' || turn.state === 'failed' ? turn.state : 'other';
        return { type: 'tool_result', tool_use_id: use.id, is_error: true, content: NO_RESULT[why] } as const;
      }
      const content = await rendering.resultBlocks(call.content);
      return {
        type: 'tool_result',
        tool_use_id: use.id,
        ...(call.isError && { is_error: true }),
        ...(content.length > 0 && { content }),
      } as const;
    }),
  );
}

function add(
  messages: Anthropic.MessageParam[],
  role: 'user' | 'assistant',
  blocks: Anthropic.ContentBlockParam[],
): void {
  if (blocks.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === role) (last.content as Anthropic.ContentBlockParam[]).push(...blocks);
  else messages.push({ role, content: [...blocks] });
}

function text(content: string): Anthropic.TextBlockParam {
  return { type: 'text', text: content };
}
