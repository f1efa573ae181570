import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, listen } from './listen.js';

/** What happens to one request on its way. */
export type Fault =
  /** Answered by the proxy itself; the service never sees it. */
  | { answer: { status: number; headers?: Record<string, string>; body?: string } }
  /** Goes through, and the answer is cut: before it, or after so many bytes of its body. */
  | { cut: 'before the answer' | number }
  /** Goes through; from here on the answer is held back. */
  | { hold: Promise<unknown> };

/** An HTTP proxy that injects the faults of the test. */
export interface FaultyProxy {
  url: string;
  /** The next requests meet these, in order; then everything goes through. */
  faults: Fault[];
  /** What came, in order. */
  requests: { method: string; path: string; headers: IncomingMessage['headers'] }[];
  close(): Promise<void>;
}

export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const proxy: FaultyProxy = { url: '', faults: [], requests: [], close: async () => undefined };
  const server = createServer((req, res) => {
    proxy.requests.push({ method: req.method!, path: req.url!, headers: req.headers });
    const fault = proxy.faults.shift();
    if (fault !== undefined && 'answer' in fault) {
      req.resume().once('end', () => res.writeHead(fault.answer.status, fault.answer.headers).end(fault.answer.body));
      return;
    }
    const { method, headers } = req;
    const onward = request(target + req.url!, { method, headers }, (answer) => void pass(answer, res, fault));
    onward.on('error', () => res.destroy());
    res.on('close', () => onward.destroy());
    req.pipe(onward);
  });
  proxy.url = (await listen(server)).url;
  proxy.close = () => closeServer(server);
  return proxy;
}

async function pass(
  answer: IncomingMessage,
  res: ServerResponse,
  fault: Exclude<Fault, { answer: unknown }> | undefined,
) {
  answer.on('error', () => res.destroy());
  if (fault !== undefined && 'hold' in fault) await fault.hold;
  if (fault !== undefined && 'cut' in fault && fault.cut === 'before the answer') return void res.destroy();
  res.writeHead(answer.statusCode!, answer.headers).flushHeaders();
  let left = fault !== undefined && 'cut' in fault ? (fault.cut as number) : Infinity;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    await new Promise((resolve) => res.write(chunk.subarray(0, left), resolve));
    left -= chunk.length;
    if (left <= 0) return void res.destroy();
  }
  res.end();
}
