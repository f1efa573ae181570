import { readdirSync, readFileSync } from 'node:fs';
import { json } from 'node:stream/consumers';
import { extname, join } from 'node:path';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { ApiError } from '@agent-session-service/client';
import { BASE, createChat, createToken, forget, linkOf, listChats, NotFound, suggestions } from './chats.js';
import { people, signedIn, signIn, signOut } from './people.js';

/** The back end of the chat: it knows who is signed in, and makes tokens. The messages go from the browser to the service. */
const { PORT = '7400' } = process.env;
const DIST = join(import.meta.dirname, '../dist');

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  `connect-src 'self' ${BASE}`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const api = new Router({ prefix: '/api' });
const idOf = ({ params }: { params: Record<string, string> }): string => params.id!;

api.get('/me', async (ctx) => {
  const { name } = signedIn(ctx);
  ctx.body = { name, service: BASE, suggestions: await suggestions() };
});
api.get('/people', (ctx) => {
  ctx.body = people;
});
api.post('/sign-in', async (ctx) => {
  signIn(ctx, String((await bodyOf(ctx)).person));
  ctx.body = {};
});
api.post('/sign-out', (ctx) => {
  signOut(ctx);
  ctx.body = {};
});
api.get('/chats', async (ctx) => {
  ctx.body = await listChats(signedIn(ctx));
});
api.post('/chats', async (ctx) => {
  ctx.body = await createChat(signedIn(ctx));
});
api.post('/chats/:id/token', async (ctx) => {
  ctx.set('Cache-Control', 'no-store');
  ctx.body = await createToken(signedIn(ctx), idOf(ctx));
});
api.post('/chats/:id/forget', async (ctx) => {
  await forget(signedIn(ctx), idOf(ctx), String((await bodyOf(ctx)).toolUseId));
  ctx.body = {};
});
api.get('/files/:id', async (ctx) => {
  ctx.redirect(await linkOf(signedIn(ctx), idOf(ctx)));
});

const MAX_BODY_BYTES = 512 * 1024;

async function bodyOf(ctx: Context): Promise<Record<string, unknown>> {
  if (!(Number(ctx.get('content-length')) <= MAX_BODY_BYTES)) ctx.throw(413, 'The body is too long.');
  return (await json(ctx.req)) as Record<string, unknown>;
}

/** The files of the page, by path. */
const files = new Map(
  readdirSync(DIST, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(DIST.length), readFileSync(path)];
    }),
);

const app = new Koa();
app.on('error', (error: Error) => console.error(error));
app.use(async (ctx, next) => {
  ctx.set({
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  });
  try {
    await next();
  } catch (error) {
    const { status, message } = error as Error & { status?: number };
    ctx.status = error instanceof NotFound ? 404 : error instanceof ApiError ? 502 : (status ?? 500);
    ctx.body = { message: ctx.status === 500 ? 'That failed.' : message };
    if (ctx.status >= 500) console.error(error);
  }
});
app.use(api.routes());
app.use((ctx) => {
  const path = ctx.path === '/' ? '/index.html' : ctx.path;
  const file = files.get(path);
  if (file === undefined) return ctx.throw(404, 'There is no such page.');
  ctx.type = extname(path);
  ctx.body = file;
  return undefined;
});
app.listen(Number(PORT), '127.0.0.1', () => console.log(`the chat at http://127.0.0.1:${PORT}`));
