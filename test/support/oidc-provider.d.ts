/** The part of oidc-provider that the tests use; it ships no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';
  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (req: IncomingMessage, res: ServerResponse) => void;
    AccessToken: { find(token: string): Promise<{ accountId?: string; aud?: string | string[] } | undefined> };
  }
}
