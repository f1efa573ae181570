import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { checkPayload } from './openapi-check.js';
import { closeServer, listen } from './listen.js';

/** A request that reached the receiver. */
export interface Received {
  /** `webhook-id`. */
  id: string;
  headers: IncomingHttpHeaders;
  body: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of many types
  payload: any;
  /** When it came, in ms of the process' clock. */
  at: number;
}

/** How the receiver answers; `nth` counts the requests with this `webhook-id` from 1. */
export type Answer = (res: ServerResponse, request: Received, nth: number) => void;

export interface WebhookReceiver {
  url: string;
  /** `127.0.0.1:port`, for MCP_ALLOWED_HOSTS. */
  host: string;
  /** Every request, in order. */
  received: Received[];
  /** Connections that were opened so far. */
  connections: number;
  /** May be changed at any time. */
  answer: Answer;
  /** Requests of one delivery. */
  of(deliveryId: string): Received[];
  /** Refuses connections from now on, and breaks those that are open. */
  leave(): Promise<void>;
  /** Listens again, on the same port. */
  comeBack(): Promise<void>;
  /** Rejects when a payload was not as the OpenAPI document describes it. */
  close(): Promise<void>;
}

/** True when a receiver with this secret accepts the request. */
export function verifies(secret: string, { body, headers }: Received): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

/** A real receiver of webhooks on node:http. It answers 204 unless the test sets another answer. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  let server: Server;
  let port = 0;
  let fault: Error | null = null;
  const open = async (): Promise<void> => {
    server = createServer((req, res) => {
      void text(req).then(
        (body) => {
          const id = String(req.headers['webhook-id']);
          const request = { id, headers: req.headers, body, payload: JSON.parse(body), at: performance.now() };
          receiver.received.push(request);
          try {
            checkPayload(request.payload);
          } catch (error) {
            fault ??= error as Error;
          }
          receiver.answer(res, request, receiver.of(id).length);
        },
        () => undefined,
      );
    });
    server.on('connection', () => (receiver.connections += 1));
    ({ port } = await listen(server, port));
  };
  const receiver: WebhookReceiver = {
    url: '',
    host: '',
    received: [],
    connections: 0,
    answer: (res) => void res.writeHead(204).end(),
    of: (deliveryId) => receiver.received.filter(({ id }) => id === deliveryId),
    leave: () => closeServer(server),
    comeBack: open,
    close: async () => {
      if (server.listening) await closeServer(server);
      if (fault !== null) throw fault;
    },
  };
  await open();
  receiver.host = `127.0.0.1:${port}`;
  receiver.url = `http://${receiver.host}/hook`;
  return receiver;
}
