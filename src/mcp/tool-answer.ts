import { imageTypeOf, MAX_IMAGE_BYTES, type ImageType } from '../models/image-type.js';
import { isMarkedNumber } from '../platform/exact-json.js';
import { asJsonObject, isJsonObject, withoutNulls, type JsonObject } from '../platform/json-object.js';
import type { Cleaner } from './cleaner.js';
import { shownJson, structuredText } from './structured-text.js';

const MAX_PARTS = 1000;
/** Values of `isError` that servers send for true. */
const IS_TRUE: ReadonlySet<unknown> = new Set([true, 'true', 'True', 1]);
/** Images of a result that are stored. A request shows at most 20. */
const MAX_IMAGES = 100;
const MAX_BASE64_LENGTH = (MAX_IMAGE_BYTES / 3) * 4;
/** A part of a kind that MCP does not know, as JSON. A longer one is mostly a file in base64. */
const MAX_OTHER_PART_BYTES = 16 * 1024;
/** Members that say nothing about the content, of a part and of a result. */
const ABOUT_PART: ReadonlySet<string> = new Set(['type', '_meta', 'annotations']);
const ABOUT_RESULT: ReadonlySet<string> = new Set(['_meta', 'isError', 'content', 'structuredContent']);

interface DecodedImage {
  bytes: Buffer;
  mediaType: ImageType;
}

interface TextBlock {
  type: 'text';
  text: string;
}

interface ReadOptions<Image> {
  cleaner: Cleaner;
  signal: AbortSignal;
  /** Returns the block for an image, or the reason why it is missing, which a line of text then says. */
  keepImage: (image: DecodedImage, index: number) => Promise<Image | string> | Image | string;
}

/**
 * Converts a tool's answer to blocks, in the same order. Text is kept, supported images go to `keepImage`, and a line of text
 * describes everything else, so that nothing is dropped silently.
 * @throws the signal's reason when `signal` aborts
 */
export async function readToolAnswer<Image extends { type: string }>(
  answer: JsonObject,
  { cleaner, signal, keepImage }: ReadOptions<Image>,
): Promise<{ content: (TextBlock | Image)[]; isError: boolean }> {
  const parts = partsOf(answer.content);
  const blocks: (TextBlock | Image)[] = [];
  let images = 0;
  let leftOutImages = 0;

  const addText = async (text: string): Promise<void> => {
    const cleaned = await cleaner.cleanLong(text);
    if (cleaned.trim() !== '') blocks.push({ type: 'text', text: cleaned });
  };
  const addBytes = async (kind: string, data: unknown, mimeType: unknown, label: string): Promise<void> => {
    if (images === MAX_IMAGES) {
      leftOutImages += 1;
      return;
    }
    const image = modelImage(data);
    if (image === null) return addText(notShown(kind, data, mimeType, label));
    const kept = await keepImage(image, images);
    images += 1;
    if (typeof kept === 'string') await addText(`[${kind}${label}: ${kept}]`);
    else blocks.push(kept);
  };

  for (const part of parts.slice(0, MAX_PARTS)) {
    signal.throwIfAborted();
    const { text, mimeType, resource, source } = part;
    const data = part.data ?? asJsonObject(source).data;
    const type = typeOf(part);
    if (type === 'text' && isGiven(text)) await addText(isText(text) ? text : shownJson(text, 'text'));
    else if (type === 'image' && isGiven(data)) await addBytes('image', data, mimeType, '');
    else if (type === 'resource' && isJsonObject(resource)) {
      const { uri, text: content, blob, mimeType: kind } = resource;
      const label = `resource ${string(uri)}`;
      if (isText(content)) await addText(`[${label}${inParentheses(kind)}]\n${content}`);
      else if (isGiven(content)) await addText(`[${label}${inParentheses(kind)}]\n${shownJson(content, label)}`);
      else await addBytes('resource', blob, kind, ` ${string(uri)}`);
    } else if (type === 'resource_link') await addText(linkText(part));
    else if (type === 'audio' && isGiven(data)) await addText(notShown('audio', data, mimeType, ''));
    else await addText(otherPart(part));
  }
  const leftOut = [
    ...(parts.length > MAX_PARTS ? [`${parts.length - MAX_PARTS} more parts (a result may have ${MAX_PARTS})`] : []),
    ...(leftOutImages > 0 ? [`${leftOutImages} more images or files (a result may have ${MAX_IMAGES} images)`] : []),
  ];
  if (leftOut.length > 0) await addText(`[left out: ${leftOut.join(', ')}]`);
  const structured = structuredText(answer.structuredContent, textsOf(parts));
  if (structured !== null) await addText(structured);
  if (blocks.length === 0 && structured === null) await addText(otherMembers(answer));
  if (blocks.length === 0) await addText('[The tool returned no content.]');
  return { content: blocks, isError: IS_TRUE.has(answer.isError) };
}

/**
 * Decodes an image in base64, with line breaks, as a data URL or in the alphabet for urls, too; null if the model's API does
 * not accept it.
 */
export function modelImage(data: unknown): DecodedImage | null {
  if (typeof data !== 'string' || data.length > 2 * MAX_BASE64_LENGTH) return null;
  const base64 = data
    .replace(/^data:[^,]{0,256};base64,/i, '')
    .replace(/\s+/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  if (base64.length > MAX_BASE64_LENGTH || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return null;
  if (base64.replace(/=+$/, '').length % 4 === 1) return null;
  const bytes = Buffer.from(base64, 'base64');
  const mediaType = imageTypeOf(bytes);
  return mediaType === null ? null : { bytes, mediaType };
}

/** Some servers send one part without its list, or texts and other values instead of parts. */
function partsOf(content: unknown): JsonObject[] {
  const parts: unknown[] = Array.isArray(content) ? content : [content ?? []].flat();
  return parts.map((part) => (isJsonObject(part) ? part : { type: 'text', text: part }));
}

function typeOf({ type, text }: JsonObject): unknown {
  return !isGiven(type) && typeof text === 'string' ? 'text' : type;
}

/** A part that MCP does not know, or without what its type needs. */
function otherPart(part: JsonObject): string {
  const members = membersOf(part, ABOUT_PART);
  const label = `content of the kind ${string(part.type) || 'unnamed'}`;
  if (members === null) return `[${label}, without content]`;
  if (isText(members.text)) return `[${label}]\n${members.text}`;
  return `[${label}]\n${shownJson(members, 'it', MAX_OTHER_PART_BYTES)}`;
}

/** What a server sent in place of content: a result that was made by hand is often the bare object. */
function otherMembers(answer: JsonObject): string {
  const members = membersOf(answer, ABOUT_RESULT);
  return members === null ? '' : shownJson(members, 'result');
}

function membersOf(value: JsonObject, about: ReadonlySet<string>): JsonObject | null {
  const members = Object.entries(withoutNulls(value)).filter(([name]) => !about.has(name));
  return members.length === 0 ? null : Object.fromEntries(members);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function textsOf(parts: readonly JsonObject[]): string[] {
  return parts
    .slice(0, MAX_PARTS)
    .map(shownText)
    .filter((text) => typeof text === 'string');
}

function shownText(part: JsonObject): unknown {
  if (typeOf(part) === 'resource') return asJsonObject(part.resource).text;
  return typeOf(part) === 'text' ? part.text : undefined;
}

function linkText({ uri, name, title, description, mimeType, size }: JsonObject): string {
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

function string(value: unknown): string {
  return isText(value) ? value : '';
}

/** A long number has the type of a string here (src/platform/exact-json). */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !isMarkedNumber(value);
}
