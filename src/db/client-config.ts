import type pg from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { authOf } from '../platform/database-address.js';
import { googleTokens, SQL_LOGIN } from '../platform/google-tokens.js';

export const databaseTokens = googleTokens(SQL_LOGIN);

export function clientConfig(address: string): pg.ClientConfig {
  const { url, auth } = authOf(address);
  if (auth === 'password') return { connectionString: url };
  // Asked for each new connection: a token lasts an hour, a connection may last for weeks.
  return { ...parseIntoClientConfig(url), password: () => databaseTokens.get() };
}
