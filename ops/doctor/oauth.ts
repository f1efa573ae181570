import { redirectUriOf } from '../../src/mcp/oauth/authorize.js';
import type { Config } from '../../src/platform/config.js';
import { withDatabase } from '../command.js';
import { CheckError, type Check } from './check.js';

const REMEDY =
  'Set PUBLIC_URL to the address at which browsers reach the API, then authorize these servers again; their users have to sign in again, too.';

/** Authorization servers redirect browsers to PUBLIC_URL, so it must be the address registered with them. */
export function publicUrlCheck(config: Config): Check {
  return { part: 'public url', remedy: REMEDY, run: () => checkPublicUrl(config) };
}

/** If the database is unreachable, the check passes: the Postgres check reports that. */
async function checkPublicUrl(config: Config): Promise<string> {
  return checkRedirects(config).catch((error: unknown) => {
    if (error instanceof CheckError) throw error;
    return `${config.publicUrl}, not compared with the addresses that authorization servers have`;
  });
}

async function checkRedirects(config: Config): Promise<string> {
  return withDatabase(config.databaseUrl, 'doctor', async (db) => {
    const rows = await db.query<{ redirect_uri: string; authorizations: number }[]>(
      'SELECT redirect_uri, count(*) AS authorizations FROM mcp_oauth GROUP BY redirect_uri ORDER BY redirect_uri',
    );
    const expected = redirectUriOf(config);
    const other = rows.find(({ redirect_uri }) => redirect_uri !== expected);
    if (other !== undefined) {
      const { redirect_uri: used, authorizations } = other;
      throw new CheckError(
        `${authorizations} authorizations of MCP servers send browsers to ${used}, but PUBLIC_URL gives ${expected}`,
        REMEDY,
      );
    }
    if (rows.length > 0 && !isSafe(new URL(expected))) {
      throw new CheckError(`authorization servers refuse redirects to ${expected}: it is not https`, REMEDY);
    }
    return config.publicUrl;
  });
}

/** OAuth 2.1 allows http for the loopback interface only. */
function isSafe({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}
