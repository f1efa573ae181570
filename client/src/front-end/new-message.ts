import type { AgentSessionClient } from '../client.js';
import type { NewMessage, UserMessageEvent, WaitingMessage } from '../types.js';

/** @internal A file of a new message: one that the service has, or content to upload. */
export type Attachment = { fileId: string } | { filename: string; content: Blob };

const MAX_KEY_LENGTH = 255;

/**
 * @internal Sends a message of a page once, however often the page sends it: its keys come from the session and the page's own id of
 * the message. A message without text gets the names of its files.
 */
export async function sendOnce(
  client: AgentSessionClient,
  sessionId: string,
  message: { id: string; text: string; attachments: Attachment[] },
  whenRunning?: NewMessage['when_running'],
): Promise<UserMessageEvent | WaitingMessage> {
  const key = encodeURIComponent(`${sessionId}-${message.id}`).slice(0, MAX_KEY_LENGTH - 10);
  const files: string[] = [];
  const names: string[] = [];
  for (const [index, attachment] of message.attachments.entries()) {
    if ('fileId' in attachment) files.push(attachment.fileId);
    else {
      names.push(attachment.filename);
      files.push((await client.uploadFile(attachment, { idempotencyKey: `${key}-file-${index}` })).id);
    }
  }
  const content = message.text.trim() === '' && files.length > 0 ? names.join(', ') || 'See the file.' : message.text;
  const sent = { content, ...(files.length > 0 && { files }), ...(whenRunning && { when_running: whenRunning }) };
  return client.sendMessage(sessionId, sent, { idempotencyKey: key });
}

/** @internal The content of a `data:` URL, base64 or percent-encoded. @throws TypeError for any other URL */
export function contentOfDataUrl(url: string): Blob {
  const [, mediaType = '', base64, data] = /^data:([^,;]*(?:;(?!base64,)[^,;]*)*)(;base64)?,(.*)$/is.exec(url) ?? [];
  if (data === undefined) {
    throw new TypeError('Only files with content (a data: URL) or of the service (agent-session) can be sent.');
  }
  const bytes = base64 === undefined ? decodePercent(data) : Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  return new Blob([bytes], { type: mediaType });
}

/** Bytes that are not UTF-8 can be percent-encoded too. */
function decodePercent(data: string): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(data);
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const hex = text[at] === 0x25 ? /^%([0-9a-f]{2})/i.exec(String.fromCharCode(...text.subarray(at, at + 3))) : null;
    bytes.push(hex === null ? text[at]! : Number.parseInt(hex[1]!, 16));
    if (hex !== null) at += 2;
  }
  return Uint8Array.from(bytes);
}

const EXTENSIONS: Record<string, string> = { plain: 'txt', markdown: 'md', 'svg+xml': 'svg', jpeg: 'jpg' };

/** @internal A name for a file without one: the service finds its type from the extension. */
export function nameOf(mediaType: string, index: number): string {
  const subtype = /^[^/]+\/([^;]+)/.exec(mediaType)?.[1] ?? 'bin';
  return `file-${index + 1}.${EXTENSIONS[subtype] ?? subtype}`;
}
