import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TestService } from './service.js';
import type { ApiResponse } from './client.js';
import { reachedBy } from './rows.js';

const BOUNDARY = 'x-test-boundary';
export const MULTIPART = { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` };

/** The File resource. */
export interface FileBody {
  id: string;
  filename: string;
  mime_type: string;
  size_bytes: number;
  origin: 'UPLOAD' | 'OUTPUT';
  session_id: string | null;
  created_at: string;
}

/** A part as it stands on the wire. */
export interface WirePart {
  disposition: string | Buffer;
  content?: string | Buffer;
  headers?: string[];
}

/** The bytes of a body; nothing of a part is escaped or completed. */
export function multipartBody(parts: WirePart[], end = `--${BOUNDARY}--\r\n`): Buffer {
  const chunks = parts.flatMap(({ disposition, content = '', headers = [] }) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: `),
    Buffer.from(disposition as string),
    Buffer.from(`\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`),
    Buffer.from(content as string),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...chunks, Buffer.from(end)]);
}

/** The usual part: a file in the field `file`. */
export function filePart(filename: string, content: string | Buffer = 'content'): WirePart {
  return {
    disposition: `form-data; name="file"; filename="${filename}"`,
    content,
    headers: ['Content-Type: text/plain'],
  };
}

/** POSTs parts as they are. */
export function postParts(
  service: Pick<TestService, 'api'>,
  parts: WirePart[],
  headers: Record<string, string> = {},
  path = '/v1/files',
): Promise<ApiResponse> {
  return service.api('POST', path, multipartBody(parts), { ...MULTIPART, ...headers });
}

/** Uploads one file as a browser would. */
export function upload(
  service: Pick<TestService, 'api'>,
  filename: string,
  content: string | Buffer = 'content',
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  const form = new FormData();
  form.set('file', new Blob([content]), filename);
  return service.api('POST', '/v1/files', form, headers);
}

/** A body of `size` bytes of file that is made while it is sent. */
export function* streamedFile(size: number, filename = 'big.bin', rest = ''): Generator<Buffer> {
  yield Buffer.from(
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n` +
      'Content-Type: application/octet-stream\r\n\r\n',
  );
  const chunk = Buffer.alloc(64 * 1024, 'abc');
  for (let left = size; left > 0; left -= chunk.length) yield left < chunk.length ? chunk.subarray(0, left) : chunk;
  yield Buffer.from(`\r\n${rest}--${BOUNDARY}--\r\n`);
}

/** Sends a body chunk by chunk without knowing its length, and reads the answer whenever it comes. */
export async function postStream(
  service: Pick<TestService, 'url' | 'key'>,
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
  path = '/v1/files',
): Promise<{ status: number; body: ApiResponse['body']; sentAll: boolean }> {
  const outgoing = request(service.url + path, {
    method: 'POST',
    headers: { Authorization: `Bearer ${service.key}`, ...MULTIPART },
  });
  let sentAll = false;
  const answered = new Promise<Pick<ApiResponse, 'status' | 'body'>>((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      response
        .toArray()
        .then(
          (chunks) => resolve({ status: response.statusCode!, body: JSON.parse(Buffer.concat(chunks).toString()) }),
          reject,
        );
    });
  });
  const sent = pipeline(Readable.from(chunks), outgoing).then(
    () => (sentAll = true),
    () => false,
  );
  const answer = await answered;
  reachedBy('POST', path, answer.status, answer.body);
  outgoing.destroy();
  await sent;
  return { ...answer, sentAll };
}
