import { createServer } from 'node:http';
import { closeServer, listen } from './listen.js';

/** A model server that drops what it is sent, however much, and answers every call with one word. */
export interface SinkModel {
  url: string;
  /** Bytes of each request, in the order of their ends. */
  received: number[];
  /** Requests whose bodies were on their way at once, at most. */
  readonly mostAtOnce: number;
  close(): Promise<void>;
}

const usage = { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const ANSWER = frames([
  {
    type: 'message_start',
    message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'sink', content: [], stop_reason: null, usage },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Seen.' } },
]);
const END = frames([
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
]);

function frames(events: Record<string, unknown>[]): string {
  return events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

/** `hold`: what an answer waits for before its end. */
export async function startSinkModel(hold: () => Promise<void> = async () => undefined): Promise<SinkModel> {
  const received: number[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  const server = createServer((request, response) => {
    let bytes = 0;
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('close', () => (atOnce -= 1));
    request.on('end', () => {
      received.push(bytes);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(ANSWER);
      void hold().then(() => response.end(END));
    });
  });
  const { url } = await listen(server);
  return {
    url,
    received,
    get mostAtOnce() {
      return mostAtOnce;
    },
    close: () => closeServer(server),
  };
}
