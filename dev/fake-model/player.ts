import type { MessageWriter } from './writer.js';
import { newId, type StopReason } from './wire.js';
import { Gate, type Block, type MessageReply, type Step } from './replies.js';

/** What a play tells the recorder of the request. */
export interface Listener {
  /** A chunk was handed to the socket (or gathered with others for one write). */
  sent(): void;
  /** A tool call was begun, after thinking or not. */
  calling(id: string, afterThinking: boolean): void;
}

type Outcome = 'go on' | 'full' | 'over';

/** Plays a scripted message through a writer, up to its end or its fault. `limit` is why a full message stops. */
export async function play(
  reply: MessageReply,
  writer: MessageWriter,
  limit: StopReason,
  listener: Listener,
): Promise<void> {
  let thought = false;
  for (const part of reply.parts) {
    const outcome = isBlock(part) ? await playBlock(part, writer, thought, listener) : await take(part, writer);
    if (outcome === 'over') return;
    if (outcome === 'full') return writer.finish(limit);
    if (part.kind === 'thinking' || part.kind === 'redacted_thinking') thought = true;
  }
  const calls = reply.parts.some((part) => part.kind === 'tool_use');
  writer.finish(reply.stopReason ?? (calls ? 'tool_use' : 'end_turn'));
}

const isBlock = (part: Block | Step): part is Block => 'source' in part || part.kind === 'redacted_thinking';

async function playBlock(block: Block, writer: MessageWriter, thought: boolean, listener: Listener): Promise<Outcome> {
  if (block.kind === 'redacted_thinking') {
    writer.open({ type: block.kind, data: block.data });
    writer.close();
    return 'go on';
  }
  if (block.kind === 'tool_use') {
    const id = block.id ?? newId('toolu');
    listener.calling(id, thought);
    writer.open({ type: block.kind, id, name: block.name });
  } else {
    writer.open({ type: block.kind });
  }
  const { every, before } = block.pacing;
  const start = performance.now();
  let number = 0;
  for (const chunk of chunksOf(block)) {
    const step = before?.[number];
    if (step !== undefined && (await take(step, writer)) === 'over') return 'over';
    // From the start, not from the last chunk: timers that come late must not slow the whole block.
    if (every !== undefined && number > 0) await writer.sleepUntil(start + number * every);
    if (writer.closed) return 'over';
    if (!writer.delta(chunk)) return 'full';
    if (every !== undefined || writer.full) await writer.flush();
    listener.sent();
    number += 1;
  }
  const missed = Object.keys(before ?? {}).find((one) => Number(one) >= number);
  if (missed !== undefined) throw new Error(`A step stands before chunk ${missed} of a block with ${number} chunks`);
  writer.close();
  return 'go on';
}

function chunksOf(block: Exclude<Block, { kind: 'redacted_thinking' }>): Iterable<string> {
  if (typeof block.source !== 'string') return block.source;
  const size = block.pacing.chunk ?? (block.kind === 'tool_use' ? 20 : undefined);
  return size === undefined ? (block.source.match(/\s*\S+\s*$|\s*\S+/g) ?? [block.source]) : pieces(block.source, size);
}

function* pieces(source: string, size: number): Iterable<string> {
  for (let at = 0; at < source.length;) {
    let end = at + size;
    // Never between the halves of one character.
    if ((source.charCodeAt(end - 1) & 0xfc00) === 0xd800) end += 1;
    yield source.slice(at, end);
    at = end;
  }
}

async function take(step: Step, writer: MessageWriter): Promise<Outcome> {
  switch (step.kind) {
    case 'wait':
      await pause(step.for, writer);
      return writer.closed ? 'over' : 'go on';
    case 'raw':
      writer.raw(step.bytes);
      return 'go on';
    case 'cut':
      await writer.cut();
      return 'over';
    case 'silence':
      await writer.flush();
      return 'over';
    case 'error':
      writer.fail(step.type, step.message);
      return 'over';
  }
}

async function pause(what: number | Gate | PromiseLike<unknown>, writer: MessageWriter): Promise<void> {
  if (typeof what === 'number') return writer.sleepUntil(performance.now() + what);
  if (!(what instanceof Gate)) return writer.until(what);
  await writer.flush();
  what.arrive();
  await writer.until(what.opened);
}
