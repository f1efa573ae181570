import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The frames of a session's last turn, and their readers. */
interface Session {
  frames: string[];
  readers: Set<ServerResponse>;
}

const isLast = (frame: string): boolean => frame.startsWith('event: turn.completed');

/** The HTTP interface of a side that has no other: POST /sessions/{id} calls `start`, GET /sessions/{id} streams what is sent. */
export class TurnServer {
  readonly #sessions = new Map<string, Session>();

  constructor(private readonly start: (sessionId: string, content: string) => unknown) {}

  /** Prints its port. */
  listen(): void {
    const server = createServer((request, response) => void this.#answer(request, response));
    server.listen(0, '127.0.0.1', () => console.log(`listening on ${(server.address() as AddressInfo).port}`));
  }

  /** Sends a frame to the readers of the turn; `turn.completed` ends their streams. */
  send(sessionId: string, event: string, content: string): void {
    const { frames, readers } = this.#sessionOf(sessionId);
    const frame = `event: ${event}\ndata: ${JSON.stringify({ content })}\n\n`;
    frames.push(frame);
    for (const reader of readers) {
      reader.write(frame);
      if (isLast(frame)) reader.end();
    }
  }

  #sessionOf(id: string): Session {
    let session = this.#sessions.get(id);
    if (session === undefined) this.#sessions.set(id, (session = { frames: [], readers: new Set() }));
    return session;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.url!.slice('/sessions/'.length);
    const session = this.#sessionOf(id);
    if (request.method === 'POST') {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      session.frames = [];
      await this.start(id, Buffer.concat(chunks).toString());
      response.writeHead(201, { 'Content-Type': 'application/json' }).end('{}');
      return;
    }
    const { frames, readers } = session;
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(`: hello\n\n${frames.join('')}`);
    if (frames.some(isLast)) {
      response.end();
      return;
    }
    readers.add(response);
    response.once('close', () => readers.delete(response));
  }
}
