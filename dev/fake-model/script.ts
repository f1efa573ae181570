import type { IncomingHttpHeaders } from 'node:http';
import type { ModelRequest } from './wire.js';
import type { Reply } from './replies.js';

/** A request to POST /v1/messages, as it came and as it went. Times are of `performance.now()`. */
export interface ReceivedRequest {
  body: ModelRequest;
  headers: IncomingHttpHeaders;
  receivedAt: number;
  /** Text of the last user message that has any: what `on` looks at. */
  userText: string;
  /** Number of model answers since then: 0 for the first call of a turn. */
  step: number;
  /** The time of each chunk of content. Chunks without `every` leave together, a moment later. */
  sentAt: number[];
  /** The message of the 400 by which it was refused. */
  refused?: string;
  /** Resolves with the time at which the client went away before the end; else never. */
  aborted: Promise<number>;
  /** The same as a value: null until it happens. */
  abortedAt: number | null;
  /** Resolves when its response is over, however it ended. */
  finished: Promise<void>;
}

/** Gives the reply to a request; `index` counts the requests that this handler was asked about, from 0. */
export type Handler = (request: ReceivedRequest, index: number) => Reply | Promise<Reply>;

/** What a route looks at: the text of the user, or the whole request. */
export type Match = RegExp | ((request: ReceivedRequest) => boolean);

interface Route {
  match: Match;
  handler: Handler;
  asked: number;
}

/**
 * A handler that replies by the step of the turn, however many sessions ask at once:
 * `model.on(/weather/, steps(toolUse('get_weather'), 'It rains.'))`.
 */
export function steps(...replies: Reply[]): Handler {
  return ({ step }) => {
    const reply = replies[step];
    if (reply === undefined) throw new Error(`No reply is scripted for step ${step} of the turn`);
    return reply;
  };
}

/** Decides who answers: the latest route that matches, else the queue, else the script. */
export class Script {
  #routes: Route[] = [];
  #queue: Reply[] = [];
  #rest: Route = { match: /^/, handler: () => 'ok', asked: 0 };

  reset(): void {
    this.#routes = [];
    this.#queue = [];
    this.default(() => 'ok');
  }

  default(handler: Handler): void {
    this.#rest = { match: /^/, handler, asked: 0 };
  }

  queue(replies: Reply[]): void {
    this.#queue.push(...replies);
  }

  route(match: Match, replies: (Reply | Handler)[]): void {
    const handler: Handler = (request, index) => {
      const reply = replies[Math.min(index, replies.length - 1)] as Reply | Handler;
      return typeof reply === 'function' ? reply(request, index) : reply;
    };
    this.#routes.unshift({ match, handler, asked: 0 });
  }

  async replyTo(request: ReceivedRequest): Promise<Reply> {
    const route = this.#routes.find(({ match }) =>
      typeof match === 'function' ? match(request) : request.userText.search(match) >= 0,
    );
    const queued = route ? undefined : this.#queue.shift();
    if (queued !== undefined) return queued;
    const taken = route ?? this.#rest;
    return taken.handler(request, taken.asked++);
  }
}
