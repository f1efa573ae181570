import type { IncomingMessage, ServerResponse } from 'node:http';
import { position } from './position.js';
import type { ReceivedRequest } from './script.js';
import type { ModelRequest } from './wire.js';

/** The requests that came to POST /v1/messages, for tests that look at them or wait for one. */
export class RequestRecord {
  readonly requests: ReceivedRequest[] = [];
  #waiting: { index: number; resolve: (request: ReceivedRequest) => void; reject: (error: Error) => void }[] = [];

  /** False: describes requests and keeps none. */
  constructor(private readonly keeps: boolean) {}

  /** `isOurs` says whether we ended the connection, and not the client. */
  add(
    { headers }: IncomingMessage,
    response: ServerResponse,
    body: ModelRequest,
    isOurs: () => boolean,
  ): ReceivedRequest {
    const request: ReceivedRequest = {
      body,
      headers,
      receivedAt: performance.now(),
      ...where(body),
      sentAt: [],
      abortedAt: null,
      aborted: new Promise((resolve) => {
        response.once('close', () => {
          if (response.writableFinished || isOurs()) return;
          request.abortedAt = performance.now();
          resolve(request.abortedAt);
        });
      }),
      finished: new Promise((resolve) => response.once('close', resolve)),
    };
    if (!this.keeps) return request;
    const index = this.requests.push(request) - 1;
    for (const waiting of this.#waiting) if (waiting.index === index) waiting.resolve(request);
    this.#waiting = this.#waiting.filter((waiting) => waiting.index !== index);
    return request;
  }

  /** The request of that number, from 0; waits until it comes. */
  at(index: number): Promise<ReceivedRequest> {
    const request = this.requests[index];
    if (request) return Promise.resolve(request);
    return new Promise((resolve, reject) => this.#waiting.push({ index, resolve, reject }));
  }

  /** Lets go of the tests that wait for a request. */
  giveUp(): void {
    for (const { index, reject } of this.#waiting)
      reject(new Error(`The test ended before request ${index} came to the model`));
    this.#waiting = [];
  }
}

/** A body that will be refused has no position. */
function where(body: unknown): { userText: string; step: number } {
  try {
    return position((body as ModelRequest).messages);
  } catch {
    return { userText: '', step: 0 };
  }
}
