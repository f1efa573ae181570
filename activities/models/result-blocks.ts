import type Anthropic from '@anthropic-ai/sdk';
import { ObjectMissingError, type Storage } from '../../src/files/storage.js';
import type { ResultBlock } from '../tools/tool.js';

const MOST_BYTES = 32 * 1024 * 1024;

type Block = Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam;

/** Blocks of a result as the Messages API takes them; one line of text for an object that is gone. */
export async function resultBlocks(storage: Storage, blocks: ResultBlock[]): Promise<Block[]> {
  const rendered = await Promise.all(blocks.map((block) => render(storage, block)));
  return rendered.filter((block) => block !== null);
}

async function render(storage: Storage, block: ResultBlock): Promise<Block | null> {
  if (block.type === 'text') return block.text.trim() === '' ? null : block;
  let bytes: Buffer;
  try {
    bytes = await storage.read(block.storage_key, MOST_BYTES);
  } catch (error) {
    if (!(error instanceof ObjectMissingError)) throw error;
    return { type: 'text', text: `(${block.type} not available any more)` };
  }
  const data = bytes.toString('base64');
  return block.type === 'image'
    ? { type: 'image', source: { type: 'base64', media_type: block.media_type, data } }
    : { type: 'document', title: block.title, source: { type: 'base64', media_type: block.media_type, data } };
}
