import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { openApiDocument } from '../../api/http/openapi/openapi.js';
import { routes } from '../../api/routes.js';
import { closeServer, listen } from './listen.js';
import cases from '../client/cases.json' with { type: 'json' };

/** An answer in test/client/cases.json. The last one of a case is repeated. */
export interface CaseAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  json?: unknown;
  /** The example of this schema in the OpenAPI document. */
  example?: string;
  /** An error of the service, of this type. */
  error?: string;
  /** Destroys the connection before the answer, after so many bytes of it, or after all of it. */
  cut?: 'before the answer' | number | true;
  /** No answer comes. */
  hold?: true;
  /** An event stream: names of frames, the milliseconds of `retry`, and what follows the frames. */
  frames?: string[];
  retry?: number;
  rest?: string;
  ping?: true;
  line_end?: string;
  /** Bytes of each chunk. */
  chunk?: number;
}

export interface CaseRequest {
  method: string;
  path: string;
  key: string | null;
  last_event_id: string | null;
  body: string;
}

export interface CaseServer {
  /** The base URL of a run of a case. `kind`: `requests` or `streams`; `run`: any text, so that runs do not meet. */
  urlOf(kind: string, name: string, run: string): string;
  /** What came for this URL, in order. Over HTTP: GET `${url}/log`. */
  requestsOf(url: string): CaseRequest[];
  url: string;
  close(): Promise<void>;
}

type Frames = Record<string, { id: string; event: string; data: object }>;

/** Answers each case of test/client/cases.json as it says. */
export async function startCaseServer(): Promise<CaseServer> {
  const runs = new Map<string, CaseRequest[]>();
  const { schemas } = openApiDocument(routes).components as {
    schemas: Record<string, { examples: unknown[] }>;
  };
  const server = createServer((req, res) => void answer(req, res));
  const { url } = await listen(server);
  const answersOf = (kind: string, name: string): CaseAnswer[] =>
    (cases[kind as 'requests'] as { name: string; answers: CaseAnswer[] }[]).find((one) => one.name === name)!.answers;

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const [, kind, name, run, ...rest] = req.url!.split('/');
    const base = `/${kind}/${name}/${run}`;
    const requests = runs.get(base) ?? [];
    runs.set(base, requests);
    if (rest[0] === 'log') return void res.end(JSON.stringify(requests));
    const hash = createHash('sha256');
    for await (const chunk of req as AsyncIterable<Buffer>) hash.update(chunk);
    const { 'idempotency-key': key, 'last-event-id': lastEventId } = req.headers;
    const answers = answersOf(kind!, decodeURIComponent(name!));
    const next = answers[Math.min(requests.length, answers.length - 1)]!;
    requests.push({
      method: req.method!,
      path: req.url!.slice(base.length),
      key: (key as string | undefined) ?? null,
      last_event_id: (lastEventId as string | undefined) ?? null,
      body: hash.digest('hex'),
    });
    if (next.hold) return;
    if (next.cut === 'before the answer') return void res.destroy();
    const isStream = next.frames !== undefined;
    const body = Buffer.from(isStream ? streamOf(next) : bodyOf(next, schemas));
    const type = isStream ? 'text/event-stream' : next.body === undefined ? 'application/json' : 'text/plain';
    res.writeHead(next.status ?? 200, { 'Content-Type': type, ...next.headers });
    const size = next.chunk ?? (typeof next.cut === 'number' ? next.cut : body.length);
    for (let start = 0; start < body.length; start += size) {
      if (!res.write(body.subarray(start, start + size))) await once(res, 'drain');
      if (next.chunk !== undefined || next.cut !== undefined) await setImmediate();
      if (typeof next.cut === 'number') return void res.destroy();
    }
    if (next.cut === true) res.destroy();
    else res.end();
  }

  return {
    url,
    urlOf: (kind, name, run) => `${url}/${kind}/${encodeURIComponent(name)}/${run}`,
    requestsOf: (base) => runs.get(base.slice(url.length)) ?? [],
    close: () => closeServer(server),
  };
}

function bodyOf(answer: CaseAnswer, schemas: Record<string, { examples: unknown[] }>): string {
  if (answer.example !== undefined) return JSON.stringify(schemas[answer.example]!.examples[0]);
  if (answer.error !== undefined) {
    return JSON.stringify({
      type: 'error',
      error: { type: answer.error, message: 'It says why.' },
      request_id: 'req_1',
    });
  }
  return answer.json === undefined ? (answer.body ?? '') : JSON.stringify(answer.json);
}

function streamOf({ frames = [], retry, rest = '', ping, line_end: end = '\n' }: CaseAnswer): string {
  const all = cases.frames as Frames;
  const lines = [
    ...(retry === undefined ? [] : [`retry: ${retry}`, '']),
    ...(ping ? [': ping', ''] : []),
    ...frames.flatMap((name) => {
      const { id, event, data } = all[name]!;
      return [`id: ${id}`, `event: ${event}`, `data: ${JSON.stringify(data)}`, ''];
    }),
  ];
  return lines.map((line) => line + end).join('') + rest;
}
