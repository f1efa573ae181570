/** How connections log in: with the address' password, or as this process' Google account, with its token as password. */
export const DATABASE_AUTH = ['password', 'google_iam'] as const;
type DatabaseAuth = (typeof DATABASE_AUTH)[number];

/** The parameter of an address that says how to log in. Postgres never gets it. */
const AUTH_PARAMETER = 'service_auth';

/** Puts the way to log in into the address, so that one value reaches every connection. */
export function databaseAddress(url: string, auth: DatabaseAuth): string {
  if (auth === 'password') return url;
  const address = new URL(url);
  address.searchParams.set(AUTH_PARAMETER, auth);
  return address.href;
}

export function authOf(address: string): { url: string; auth: DatabaseAuth } {
  if (!address.includes(AUTH_PARAMETER)) return { url: address, auth: 'password' };
  const url = new URL(address);
  url.searchParams.delete(AUTH_PARAMETER);
  return { url: url.href, auth: 'google_iam' };
}
