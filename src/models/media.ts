import { randomBytes } from 'node:crypto';
import type Anthropic from '@anthropic-ai/sdk';

/** Random per process and never sent: text of a user or a tool cannot contain it. */
const MARK = randomBytes(16).toString('hex');
const PLACEHOLDER = new RegExp(`${MARK}/(image|document)/(\\d+)/([a-z0-9_/-]+)`);

/** An object in file storage that a request contains as base64. */
export interface MediaSource {
  kind: 'image' | 'document';
  key: string;
  bytes: number;
}

/**
 * Placeholder for the base64 of an object. It is replaced while the request is sent, so that memory never holds a
 * request with its images.
 */
export function mediaPlaceholder({ kind, key, bytes }: MediaSource): string {
  return `${MARK}/${kind}/${bytes}/${key}`;
}

/** An image or a document of a request. */
export interface PlacedMedia {
  kind: MediaSource['kind'];
  key: string;
  /** As the API names places: `messages.0.content.1`, in a tool's result `messages.2.content.0.content.1`. */
  path: string;
}

/** The media of a request, in its order: the newest come last. */
export function mediaOf(messages: readonly Anthropic.MessageParam[]): PlacedMedia[] {
  return messages.flatMap(({ content }, index) => mediaIn(content, `messages.${index}`));
}

function mediaIn(content: string | Anthropic.ContentBlockParam[] | undefined, place: string): PlacedMedia[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((block, index): PlacedMedia[] => {
    const path = `${place}.content.${index}`;
    if (block.type === 'tool_result') return mediaIn(block.content as Anthropic.ContentBlockParam[] | undefined, path);
    if ((block.type !== 'image' && block.type !== 'document') || block.source.type !== 'base64') return [];
    return splitAtMedia(block.source.data).flatMap((part) =>
      typeof part === 'string' ? [] : [{ kind: part.kind, key: part.key, path }],
    );
  });
}

/** Splits the body of a request into text and media, alternating; a single text if it has no media. */
export function splitAtMedia(body: string): (string | MediaSource)[] {
  // The capture groups are part of the result: text, kind, bytes, key, text, …
  const pieces = body.split(PLACEHOLDER);
  const parts: (string | MediaSource)[] = [pieces[0]!];
  for (let at = 1; at < pieces.length; at += 4) {
    parts.push(sourceOf(pieces[at]!, pieces[at + 1]!, pieces[at + 2]!), pieces[at + 3]!);
  }
  return parts;
}

function sourceOf(kind: string, bytes: string, key: string): MediaSource {
  return { kind: kind as MediaSource['kind'], bytes: Number(bytes), key };
}

export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
