import type Anthropic from '@anthropic-ai/sdk';
import { isOpen, type TurnState } from '../../src/db/turn-states.js';
import { truncateUtf8 } from '../../src/platform/text.js';
import { describeFile } from '../../src/steps/session-files.js';
import { isWorkspaceTool } from '../../src/sessions/tools.js';
import type { Conversation } from '../../src/steps/conversation.js';
import type { PastCall, PastStep, PastTurn, SteeringMessage } from '../../src/steps/past-turn.js';
import type { AssistantBlock, ResultBlock } from '../../src/models/content.js';

type ContentBlock = Anthropic.ContentBlockParam;
type ShownBlock = Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam;

/** How to render media from the storage and tool names in a request. */
interface Rendering {
  /** Blocks for the files of the message that the current turn works on, in addition to their line of text. */
  attachments: ShownBlock[];
  /** Number of the turn that the message began. */
  attachmentsOf: number;
  /** Renders an image or a document of a tool result; as a line of text if it is not shown (any more). */
  media: (block: Exclude<ResultBlock, { type: 'text' }>) => ShownBlock;
  /** Where a command of the workspace finds an attached file; null in a session without one. */
  uploadPath: ((fileId: string) => string | undefined) | null;
  /** The name under which the model knows a tool. */
  toolAlias(fullName: string): string;
  /** The model that gets its own thinking back; null for one without thinking. No model accepts the thinking of another. */
  thinkingOf: string | null;
}

const ENDS: Partial<Record<TurnState, string>> = { cancelled: 'was cancelled', failed: 'failed' };
const NOTES: Partial<Record<TurnState, string>> = {
  cancelled: '[The previous turn was cancelled by the user before it was finished.]',
  failed: '[The previous turn failed before it was finished.]',
};

/** Of a changed input that the model is told. */
const MAX_CHANGED_INPUT_BYTES = 2048;

const OUTPUT_REMINDER = '[The turn has not ended: call give_output with its result.]';

/**
 * Builds the messages of a request. The API requires a result after every tool use, no empty text, and alternating
 * roles, so earlier turns that were cut short are completed here.
 */
export function toMessages(conversation: Conversation, rendering: Rendering): Anthropic.MessageParam[] {
  const messages: Anthropic.MessageParam[] = [];
  if (conversation.summary !== null) {
    add(messages, 'user', [text(`<summary-of-earlier-turns>\n${conversation.summary}\n</summary-of-earlier-turns>`)]);
  }
  const current = conversation.turns.at(-1);
  let before = conversation.summarisedState;
  // The turn of the message may be a part of the summary.
  const holder = conversation.turns.find(({ number }) => number === rendering.attachmentsOf) ?? current;
  for (const [index, turn] of conversation.turns.entries()) {
    if (turn !== current && turn.steps.at(-1)?.stopReason === 'refusal') add(messages, 'user', refusedTurn(turn));
    else addTurn(messages, turn, { before, next: conversation.turns[index + 1], shows: holder === turn }, rendering);
    before = turn.state;
  }
  trimEnd(messages);
  return messages;
}

/** Where a turn is in the conversation, and whether it shows the attachments. */
interface Place {
  before: TurnState | null;
  next: PastTurn | undefined;
  shows: boolean;
}

function addTurn(
  messages: Anthropic.MessageParam[],
  turn: PastTurn,
  { before, next, shows }: Place,
  rendering: Rendering,
): void {
  const attachments = shows ? rendering.attachments : [];
  add(
    messages,
    'user',
    turn.content === null ? continued(before, attachments) : userBlocks(turn, before, attachments, rendering),
  );
  for (const step of turn.steps) {
    const steered = turn.steering.filter((message) => message.step === step.step);
    add(
      messages,
      'user',
      steered.flatMap((message) => steeringBlocks(message, rendering)),
    );
    add(messages, 'assistant', assistantBlocks(step, rendering));
    add(messages, 'user', resultsOf(step, turn, rendering));
    if (isAnsweredByReminder(step, turn)) add(messages, 'user', [text(OUTPUT_REMINDER)]);
  }
  const steps = new Set(turn.steps.map(({ step }) => step));
  const unanswered = turn.steering.filter(({ step }) => step === null || !steps.has(step));
  add(
    messages,
    'user',
    unanswered.flatMap((message) => steeringBlocks(message, rendering)),
  );
  // Where the next turn goes on, the message is written anew.
  if (next?.content === null) return;
  if (turn.cutOff !== null && turn.cutOff.trim() !== '') add(messages, 'assistant', [text(turn.cutOff.trimEnd())]);
}

/** A step without a call ends a turn, unless the model has only paused or the turn must end with an output. */
function isAnsweredByReminder(step: PastStep, { state, steps }: PastTurn): boolean {
  if (step.stopReason === 'pause_turn' || step.content.some(({ type }) => type === 'tool_use')) return false;
  return step !== steps.at(-1) || isOpen(state);
}

/** Anthropic's documentation asks clients to remove a refused turn; otherwise the model also refuses later messages. */
function refusedTurn(turn: PastTurn): ContentBlock[] {
  return [text(`[Turn ${turn.number} is left out: the model refused to answer it.]`)];
}

function userBlocks(
  turn: PastTurn,
  before: TurnState | null,
  attachments: ShownBlock[],
  rendering: Rendering,
): ContentBlock[] {
  const note = before === null ? undefined : NOTES[before];
  return [
    ...(note === undefined ? [] : [text(note)]),
    factsOf('turn-facts', turn.queuedAt, turn.files, rendering),
    ...attachments,
    text(turn.content!),
  ];
}

/** What a turn begins with that goes on after the last stored step of the one before. */
function continued(before: TurnState | null, attachments: ShownBlock[]): ContentBlock[] {
  const end = (before === null ? undefined : ENDS[before]) ?? 'stopped';
  const note = `[The turn ${end} before it was finished. Go on with its work after its last step; do not repeat what was done.]`;
  return [...attachments, text(note)];
}

function steeringBlocks({ at, files, content }: SteeringMessage, rendering: Rendering): ContentBlock[] {
  return [factsOf('message-facts', at, files, rendering), text(content)];
}

function factsOf(
  tag: string,
  at: string,
  files: PastTurn['files'],
  { uploadPath }: Rendering,
): Anthropic.TextBlockParam {
  const facts = [`Time of this message: ${at.slice(0, 19)}Z`];
  for (const file of files) {
    const path = uploadPath?.(file.id);
    facts.push(`Attached file: ${describeFile(file)}${path === undefined ? '' : `, in the workspace: ${path}`}`);
  }
  return text(`<${tag}>\n${facts.join('\n')}\n</${tag}>`);
}

/** A step that has only thinking (its answer was cut short) is left out. */
function assistantBlocks(step: PastStep, rendering: Rendering): ContentBlock[] {
  let use = 0;
  const blocks = step.content.flatMap((block): ContentBlock[] => {
    switch (block.type) {
      case 'text':
        return block.text.trim() === '' ? [] : [block];
      case 'tool_use': {
        const call = step.calls[use++];
        return [{ ...block, name: rendering.toolAlias(call?.name ?? block.name) }];
      }
      default:
        return step.modelId === rendering.thinkingOf && isUsableThinking(block) ? [block] : [];
    }
  });
  return blocks.every(isThinking) ? [] : blocks;
}

function resultsOf(step: PastStep, turn: PastTurn, rendering: Rendering): Anthropic.ToolResultBlockParam[] {
  return step.content
    .filter((block) => block.type === 'tool_use')
    .map((use, index) => {
      const call = step.calls[index];
      const changed = changedInput(call);
      if (call?.content == null) {
        return {
          type: 'tool_result',
          tool_use_id: use.id,
          is_error: true,
          content: withNote(changed, withoutResult(turn, call, rendering)),
        };
      }
      const content = [...changed, ...resultContent(call, rendering)];
      return {
        type: 'tool_result',
        tool_use_id: use.id,
        ...(call.isError && { is_error: true }),
        ...(content.length > 0 && { content }),
      };
    });
}

/** What a call ran with, if a person has changed what the model wrote. */
function changedInput(call: PastCall | undefined): Anthropic.TextBlockParam[] {
  if (typeof call?.changedInput !== 'string') return [];
  const shown = truncateUtf8(call.changedInput, MAX_CHANGED_INPUT_BYTES);
  const end = shown.length < call.changedInput.length ? '…' : '';
  return [text(`[A person changed the input of this call to: ${shown}${end}]`)];
}

function withNote(note: Anthropic.TextBlockParam[], result: string): string | Anthropic.TextBlockParam[] {
  return note.length === 0 ? result : [...note, text(result)];
}

/** Effects must not be hidden: only a call that was never sent is said not to have run. */
function withoutResult({ state }: PastTurn, call: PastCall | undefined, { uploadPath }: Rendering): string {
  const end = ENDS[state] ?? 'ended';
  if (call?.wasSent === true && uploadPath !== null && isWorkspaceTool(call.name)) {
    return `Stopped: the turn ${end} while this call was under way, and nothing of it was kept.`;
  }
  if (call?.wasSent === true) {
    return `Outcome unknown: the turn ${end} while this call was under way. It may have taken effect: check before you repeat it.`;
  }
  return `Not run: the turn ${end} before this call was sent.`;
}

/** In an error result the API accepts only text, and the text must not be empty. */
function resultContent(call: PastCall, rendering: Rendering): ShownBlock[] {
  const blocks = call.content!.flatMap((block): ShownBlock[] => {
    if (block.type === 'text') return block.text.trim() === '' ? [] : [text(block.text)];
    return call.isError ? [] : [rendering.media(block)];
  });
  return call.isError && blocks.length === 0 ? [text('The tool failed without a message.')] : blocks;
}

/** An answer that the model should continue must not end with thinking or white space. */
function trimEnd(messages: Anthropic.MessageParam[]): void {
  const last = messages.at(-1)!;
  if (last.role !== 'assistant') return;
  const blocks = last.content as ContentBlock[];
  while (blocks.length > 0 && isThinking(blocks.at(-1)!)) blocks.pop();
  const end = blocks.at(-1);
  if (end === undefined) messages.pop();
  else if (end.type === 'text') blocks[blocks.length - 1] = text(end.text.trimEnd());
}

function add(messages: Anthropic.MessageParam[], role: 'user' | 'assistant', blocks: ContentBlock[]): void {
  if (blocks.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === role) (last.content as ContentBlock[]).push(...blocks);
  else messages.push({ role, content: [...blocks] });
}

/** The API refuses a request with thinking that has no signature: gateways send such thinking. */
function isUsableThinking(block: Extract<AssistantBlock, { type: 'thinking' | 'redacted_thinking' }>): boolean {
  return (block.type === 'thinking' ? block.signature : block.data) !== '';
}

function isThinking(block: ContentBlock): boolean {
  return block.type === 'thinking' || block.type === 'redacted_thinking';
}

function text(content: string): Anthropic.TextBlockParam {
  return { type: 'text', text: content };
}
