import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { verifyWebhook, WebhookVerificationError, type WebhookPayload } from '@agent-session-service/client';
import { appendOnce } from './append-once.js';
import { client } from './service.js';

const { WEBHOOK_PORT = '7302', DESK_DATA = '.data' } = process.env;
const URL_OF_HOOK = `http://127.0.0.1:${WEBHOOK_PORT}/`;
const FILE = join(DESK_DATA, 'webhook-secret');

/** The secret is shown once. If it was lost before it was stored, a new one replaces it. */
async function secret(): Promise<string> {
  if (existsSync(FILE)) return readFileSync(FILE, 'utf8');
  let known: string | undefined;
  for await (const webhook of client.eachWebhook()) if (webhook.url === URL_OF_HOOK) known = webhook.id;
  const made =
    known === undefined
      ? await client.createWebhook({
          url: URL_OF_HOOK,
          event_types: ['turn.completed', 'turn.failed', 'agent.requires_action'],
        })
      : await client.rotateWebhookSecret(known);
  mkdirSync(DESK_DATA, { recursive: true });
  writeFileSync(`${FILE}.new`, made.secret, { mode: 0o600, flush: true });
  renameSync(`${FILE}.new`, FILE);
  return made.secret;
}

/** Stores what the event means. It may fail or be cut off: then the service sends the delivery again. */
async function take(key: string, { type, data }: WebhookPayload): Promise<void> {
  if (type === 'webhook.test') return;
  const { session_id, turn_id, metadata } = data;
  const message = type === 'turn.completed' ? (await client.getTurn(session_id, turn_id)).message : null;
  const isNew = appendOnce('webhooks.jsonl', { key, type, turn_id, order: metadata.order, message });
  if (isNew) console.log(`${metadata.order}: ${type}`);
}

const known = await secret();
createServer((req, res) => {
  void (async () => {
    try {
      await take(String(req.headers['webhook-id']), await verifyWebhook(await buffer(req), req.headers, known));
      res.writeHead(204).end();
    } catch (error) {
      console.error(error);
      res.writeHead(error instanceof WebhookVerificationError ? 401 : 500).end();
    }
  })();
}).listen(Number(WEBHOOK_PORT), '127.0.0.1', () => console.log(`webhooks at ${URL_OF_HOOK}`));
