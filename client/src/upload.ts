import { randomId } from './random-id.js';
import type { Outgoing } from './transport.js';

/** A file to upload. A stream can be read only once, so such an upload is not retried. */
export interface UploadSource {
  filename: string;
  content: Blob | Uint8Array | string | ReadableStream<Uint8Array>;
}

/** @internal The multipart body of an upload. */
export function uploadBody({ filename, content }: UploadSource): Pick<Outgoing, 'body' | 'repeatable' | 'timeoutMs'> {
  const boundary = `upload-${randomId()}`;
  const head =
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; ${filenameParameters(filename)}\r\n` +
    'Content-Type: application/octet-stream\r\n\r\n';
  const tail = `\r\n--${boundary}--\r\n`;
  const contentType = `multipart/form-data; boundary=${boundary}`;
  const whole =
    content instanceof ReadableStream ? joined(head, content, tail) : new Blob([head, blobPart(content), tail]);
  return { body: () => ({ content: whole, contentType }), repeatable: whole instanceof Blob, timeoutMs: 0 };
}

/** A Blob does not take memory that threads share, so that is copied. */
function blobPart(content: Blob | Uint8Array | string): Blob | Uint8Array<ArrayBuffer> | string {
  if (!(content instanceof Uint8Array)) return content;
  return content.buffer instanceof ArrayBuffer ? (content as Uint8Array<ArrayBuffer>) : new Uint8Array(content);
}

/** RFC 5987 supports any name; the plain form is for logs and old parsers. */
function filenameParameters(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\]/g, '_');
  const encoded = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${plain}"; filename*=UTF-8''${encoded}`;
}

function joined(head: string, content: ReadableStream<Uint8Array>, tail: string): ReadableStream<Uint8Array> {
  const reader = content.getReader();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(head)),
    async pull(controller) {
      const { done, value } = await reader.read();
      controller.enqueue(done ? encoder.encode(tail) : value);
      if (done) controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
