import type Anthropic from '@anthropic-ai/sdk';
import { ObjectMissingError, type Storage } from '../../src/files/storage.js';
import { mediaPlaceholder } from '../../src/models/media.js';
import type { Conversation } from '../../src/steps/conversation.js';
import type { MediaRefusals } from '../../src/steps/refused-media.js';
import type { ResultBlock } from '../../src/models/content.js';
import { MIB } from '../../src/platform/units.js';

/** A request may have 32 MB, and base64 encodes three bytes as four. */
const REQUEST_BYTES = 22 * MIB;
/** With more images per request, the API accepts smaller images only. */
const MAX_SHOWN = 20;

type MediaBlock = Exclude<ResultBlock, { type: 'text' }>;
type ShownBlock = Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam;

/** The images and documents of a request, with placeholders for their bytes until the request is sent. */
interface Media {
  attachments: ShownBlock[];
  of: (block: MediaBlock) => ShownBlock;
}

/**
 * Chooses the images and documents of a request: the current message's attachments, then those of results from the
 * newest to the oldest as long as there is room. Documents are shown in their own turn only. Media of a failed turn are
 * not shown again: if the API rejected one of them, it would reject every later request.
 */
export async function loadMedia(
  storage: Storage,
  conversation: Conversation,
  attachments: ResultBlock[],
  refusals: MediaRefusals | null,
): Promise<Media> {
  const room = { bytes: REQUEST_BYTES, count: MAX_SHOWN };
  const shownAttachments: ShownBlock[] = [];
  for (const block of attachments) {
    shownAttachments.push(block.type === 'text' ? block : await shown(storage, block, room));
  }
  const blocks = new Map<string, ShownBlock>();
  for (const block of mediaOfResults(conversation)) {
    if (blocks.has(block.storage_key)) continue;
    const isRefused = refusals?.has(block) === true;
    blocks.set(block.storage_key, isRefused ? notTaken(block) : await shown(storage, block, room));
  }
  return { attachments: shownAttachments, of: (block) => blocks.get(block.storage_key) ?? notShown(block) };
}

/** True if the turn's next request may have images or documents. */
export function mayHaveMedia(conversation: Conversation, files: readonly unknown[]): boolean {
  return files.length > 0 || mediaOfResults(conversation).next().done !== true;
}

/** From the newest to the oldest. */
function* mediaOfResults({ turns }: Conversation): Generator<MediaBlock> {
  const current = turns.at(-1);
  for (const turn of turns.toReversed()) {
    if (turn.state === 'failed') continue;
    for (const step of turn.steps.toReversed()) {
      for (const call of step.calls.toReversed()) {
        for (const block of call.content ?? []) {
          if (block.type === 'image' || (block.type === 'document' && turn === current)) yield block;
        }
      }
    }
  }
}

async function shown(storage: Storage, block: MediaBlock, room: { bytes: number; count: number }): Promise<ShownBlock> {
  if (room.count === 0) return notShown(block);
  const key = block.storage_key;
  let bytes: number;
  try {
    bytes = await storage.size(key);
  } catch (error) {
    if (!(error instanceof ObjectMissingError)) throw error;
    return { type: 'text', text: `(${block.type} not available any more)` };
  }
  if (bytes > room.bytes) return notShown(block);
  room.bytes -= bytes;
  room.count -= 1;
  const data = mediaPlaceholder({ kind: block.type, key, bytes });
  return block.type === 'image'
    ? { type: 'image', source: { type: 'base64', media_type: block.media_type, data } }
    : { type: 'document', title: block.title, source: { type: 'base64', media_type: block.media_type, data } };
}

function notShown(block: MediaBlock): Anthropic.TextBlockParam {
  return { type: 'text', text: `(${nameOf(block)}, not shown again)` };
}

function notTaken(block: MediaBlock): Anthropic.TextBlockParam {
  return { type: 'text', text: `(${nameOf(block)}, not shown: the model’s API refused it)` };
}

function nameOf(block: MediaBlock): string {
  return block.type === 'document' ? `document ${JSON.stringify(block.title)}` : 'image';
}
