import { randomBytes } from 'node:crypto';

/** Never leaves this process: text of a user or a tool cannot contain it. */
const MARK = randomBytes(16).toString('hex');
const PLACEHOLDER = new RegExp(`${MARK}/(image|document)/(\\d+)/([a-z0-9_/-]+)`);

/** An object in file storage whose base64 stands in a request. */
export interface MediaSource {
  kind: 'image' | 'document';
  key: string;
  bytes: number;
}

/** Stands for the base64 of an object until the request is sent: thus no request is held in memory with its images. */
export function mediaPlaceholder({ kind, key, bytes }: MediaSource): string {
  return `${MARK}/${kind}/${bytes}/${key}`;
}

/** What a placeholder stands for; null for any other text. */
export function mediaSourceOf(text: string): MediaSource | null {
  const [whole, kind, bytes, key] = PLACEHOLDER.exec(text) ?? [];
  return whole === text ? sourceOf(kind!, bytes!, key!) : null;
}

/** The body of a request as text and media in turn; one text alone when it shows no media. */
export function splitAtMedia(body: string): (string | MediaSource)[] {
  // The expression's groups are in the result: text, kind, bytes, key, text, …
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

/** Length of the base64 of so many bytes. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
