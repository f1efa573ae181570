import type { NewMcpServer } from '../../../client/src/index.js';
import { TextField } from '../parts/fields.js';

/** How the service signs in at a server. */
export type Auth = NonNullable<NewMcpServer['auth']>;

interface Props {
  auth: Extract<Auth, { type: 'OAUTH' }>;
  onChange: (auth: Auth) => void;
}

/** Needed only where the authorization server does not register clients by itself. */
export function OauthFields({ auth, onChange }: Props) {
  return (
    <details>
      <summary>The authorization server has given us a client</summary>
      <TextField
        label="Client id"
        value={auth.client_id ?? ''}
        onChange={(id) => onChange({ ...auth, client_id: id || undefined })}
      />
      <TextField
        label="Client secret"
        type="password"
        autocomplete="off"
        value={auth.client_secret ?? ''}
        onChange={(secret) => onChange({ ...auth, client_secret: secret || undefined })}
      />
      <TextField
        label="Scopes"
        hint="Separated by spaces. Empty: those that the server names."
        onChange={(scopes) => onChange({ ...auth, scopes: parseScopes(scopes) })}
      />
    </details>
  );
}

function parseScopes(text: string): string[] | undefined {
  const scopes = text.split(/\s+/).filter((scope) => scope !== '');
  return scopes.length === 0 ? undefined : scopes;
}
