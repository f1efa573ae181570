import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';

export interface Person {
  id: string;
  name: string;
}

/** Stands in for your application's own sign-in: everything else only calls `signedIn`. */
export const people: Person[] = [
  { id: 'ada', name: 'Ada Lovelace' },
  { id: 'grace', name: 'Grace Hopper' },
];

const COOKIE = 'person';
const { KEY = '' } = process.env;

function signatureOf(id: string): string {
  return createHmac('sha256', KEY).update(`cookie of ${id}`).digest('base64url');
}

export function signIn(ctx: Context, id: string): void {
  const value = people.some((one) => one.id === id) ? `${id}.${signatureOf(id)}` : null;
  ctx.cookies.set(COOKIE, value, { httpOnly: true, sameSite: 'strict', path: '/', overwrite: true });
}

export function signOut(ctx: Context): void {
  ctx.cookies.set(COOKIE, null, { path: '/' });
}

/** The person who sent the request; else 401. */
export function signedIn(ctx: Context): Person {
  const [id = '', signature = ''] = (ctx.cookies.get(COOKIE) ?? '').split('.');
  const expected = Buffer.from(signatureOf(id));
  const given = Buffer.from(signature);
  const isValid = given.length === expected.length && timingSafeEqual(given, expected);
  const person = isValid ? people.find((one) => one.id === id) : undefined;
  if (person === undefined) return ctx.throw(401, 'Sign in first.');
  return person;
}
