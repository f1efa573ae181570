import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clean } from '../../../src/mcp/tools.js';
import { isDeeperThan } from '../../../src/platform/depth.js';
import { imageTypeOf, MAX_IMAGE_BYTES, type ImageType } from '../../../src/models/image-type.js';
import { storageKey } from '../../../src/files/storage.js';
import type { ToolCall, ToolDeps, ToolResult } from '../tool.js';
import type { ResultBlock } from '../../../src/models/content.js';

type Json = Record<string, unknown>;

/** Comparing and formatting are recursive, and the size of the indentation grows with the square of the depth. */
const MAX_STRUCTURED_DEPTH = 100;
const MAX_BASE64_LENGTH = (MAX_IMAGE_BYTES / 3) * 4;

/**
 * Converts a tool's answer to blocks for the model, in the same order. Text is kept, supported images go to the file
 * storage, and a line of text describes everything else, so that nothing is dropped silently.
 */
export async function mcpResult(
  answer: Json,
  call: ToolCall,
  { storage, log }: Pick<ToolDeps, 'storage' | 'log'>,
  clean: Clean,
): Promise<ToolResult> {
  const parts = Array.isArray(answer.content) ? (answer.content as unknown[]) : [];
  const blocks: ResultBlock[] = [];
  let images = 0;

  const addText = (text: string): void => {
    const cleaned = clean(text);
    if (cleaned.trim() !== '') blocks.push({ type: 'text', text: cleaned });
  };
  const addBytes = async (kind: string, data: unknown, mimeType: unknown, label: string): Promise<void> => {
    const image = modelImage(data);
    if (image === null) return addText(notShown(kind, data, mimeType, label));
    const storage_key = storageKey('results', call.turn.id, `${hashOf(call.toolUseId)}-${images}`);
    images += 1;
    try {
      await storage.put(storage_key, image.bytes, { contentType: image.mediaType, size: image.bytes.length });
      blocks.push({ type: 'image', media_type: image.mediaType, storage_key });
    } catch (err) {
      // The tool has run. Losing the whole result because of one image would be worse.
      log.warn({ err, turn_id: call.turn.id }, 'an image of a tool result could not be stored');
      addText(`[${kind}${label}: lost, the file storage was unavailable]`);
    }
  };

  for (const part of parts) {
    const { type, text, data, mimeType, resource } = object(part);
    if (type === 'text') addText(string(text));
    else if (type === 'image') await addBytes('image', data, mimeType, '');
    else if (type === 'resource') {
      const { uri, text: content, blob, mimeType: kind } = object(resource);
      if (typeof content === 'string') addText(`[resource ${string(uri)}${inParentheses(kind)}]\n${content}`);
      else await addBytes('resource', blob, kind, ` ${string(uri)}`);
    } else if (type === 'resource_link') addText(linkText(object(part)));
    else if (type === 'audio') addText(notShown('audio', data, mimeType, ''));
    else addText(`[content of a kind that cannot be shown: ${string(type) || 'unnamed'}]`);
  }
  const structured = structuredText(answer.structuredContent, parts);
  if (structured !== null) addText(structured);
  if (blocks.length === 0) addText('[The tool returned no content.]');
  return { content: blocks, isError: answer.isError === true };
}

/** Decodes a base64 image; null if the model's API does not accept it. */
export function modelImage(base64: unknown): { bytes: Buffer; mediaType: ImageType } | null {
  if (typeof base64 !== 'string' || base64.length > MAX_BASE64_LENGTH) return null;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || base64.length % 4 !== 0) return null;
  const bytes = Buffer.from(base64, 'base64');
  const mediaType = imageTypeOf(bytes);
  return mediaType === null ? null : { bytes, mediaType };
}

/** The structured result as JSON; null if a text of the answer has the same JSON, as the protocol recommends. */
function structuredText(structured: unknown, parts: unknown[]): string | null {
  if (structured === undefined || structured === null) return null;
  if (isDeeperThan(MAX_STRUCTURED_DEPTH, structured)) {
    return `[structured result nested deeper than ${MAX_STRUCTURED_DEPTH} levels: cannot be shown to you]`;
  }
  const isRepeated = parts.some((part) => {
    const { type, text } = object(part);
    return type === 'text' && isDeepStrictEqual(parseJson(string(text)), structured);
  });
  return isRepeated ? null : JSON.stringify(structured, null, 2);
}

function linkText({ uri, name, title, description, mimeType, size }: Json): string {
  const label = [string(title) || string(name), `<${string(uri)}>`].filter((word) => word !== '').join(' ');
  const facts = [string(mimeType), typeof size === 'number' ? `${size} bytes` : ''].filter((fact) => fact !== '');
  const note = string(description) === '' ? '' : `: ${string(description)}`;
  return `[link to a resource ${label}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}${note}]`;
}

function notShown(kind: string, data: unknown, mimeType: unknown, label: string): string {
  const bytes = typeof data === 'string' ? `, about ${Math.floor((data.length * 3) / 4)} bytes` : '';
  return `[${kind}${label}${inParentheses(mimeType)}${bytes}: cannot be shown to you]`;
}

function inParentheses(mimeType: unknown): string {
  return typeof mimeType === 'string' && mimeType !== '' ? ` (${mimeType})` : '';
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
