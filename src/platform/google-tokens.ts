import type { GoogleAuth } from 'google-auth-library';
import { BearerTokens } from './bearer-tokens.js';

const CLOUD_PLATFORM = 'https://www.googleapis.com/auth/cloud-platform';
/** A token that Cloud SQL accepts as a password, and nothing else. */
export const SQL_LOGIN = 'https://www.googleapis.com/auth/sqlservice.login';
/** No token needs a project. Without one the library would start gcloud, for seconds, to ask for it. */
const NO_PROJECT = 'none';

/**
 * Access tokens of Google's application default credentials: workload identity on GKE, the metadata server elsewhere on
 * Google Cloud, GOOGLE_APPLICATION_CREDENTIALS or gcloud on a developer's machine. Google's library is loaded only here.
 */
export function googleTokens(scope = CLOUD_PLATFORM): BearerTokens {
  let auth: GoogleAuth | undefined;
  return new BearerTokens('Google', async (renew) => {
    const { GoogleAuth } = await import('google-auth-library');
    // A new client of the library has no cached token.
    if (renew || auth === undefined) auth = new GoogleAuth({ scopes: scope, projectId: NO_PROJECT });
    const token = await auth.getAccessToken();
    if (typeof token !== 'string' || token === '') throw new Error('the credentials have no access token');
    return token;
  });
}
