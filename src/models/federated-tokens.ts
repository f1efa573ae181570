import { BearerTokens } from '../platform/bearer-tokens.js';
import { ignored } from '../platform/ignored.js';

/** Variables of Anthropic's SDK for identity federation; the last two are optional. */
export const FEDERATION_VARIABLES = [
  'ANTHROPIC_FEDERATION_RULE_ID',
  'ANTHROPIC_ORGANIZATION_ID',
  'ANTHROPIC_IDENTITY_TOKEN_FILE',
] as const;

/**
 * Access tokens from Anthropic in exchange for the identity token in a file, which the platform replaces (a projected
 * token of Kubernetes, say).
 */
export function federatedTokens(env: NodeJS.ProcessEnv, baseURL: string): BearerTokens {
  const cached = import('@anthropic-ai/sdk/lib/credentials/token-cache').then(async ({ TokenCache }) => {
    const { oidcFederationProvider } = await import('@anthropic-ai/sdk/lib/credentials/oidc-federation');
    const { identityTokenFromFile } = await import('@anthropic-ai/sdk/lib/credentials/identity-token');
    const [federationRuleId, organizationId, file] = FEDERATION_VARIABLES.map((name) => env[name] ?? '');
    const exchange = oidcFederationProvider({
      identityTokenProvider: identityTokenFromFile(file!),
      federationRuleId: federationRuleId!,
      organizationId: organizationId!,
      serviceAccountId: env.ANTHROPIC_SERVICE_ACCOUNT_ID,
      workspaceId: env.ANTHROPIC_WORKSPACE_ID,
      baseURL,
      fetch,
    });
    return new TokenCache(exchange);
  });
  // The error shows in the first request for a token.
  cached.catch(ignored('the first request for a token shows the error'));
  return new BearerTokens('Anthropic', async (renew) => {
    const cache = await cached;
    if (renew) cache.invalidate();
    return cache.getToken();
  });
}
