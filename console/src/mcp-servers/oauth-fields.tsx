import type { NewMcpServer } from '../../../client/src/index.js';

/** How the service signs in at a server. */
export type Auth = NonNullable<NewMcpServer['auth']>;

interface Props {
  auth: Auth;
  onChange: (auth: Auth) => void;
}

/** Needed only where the authorization server does not register clients by itself. */
export function OauthFields({ auth, onChange }: Props) {
  return (
    <details>
      <summary>The authorization server has given us a client</summary>
      <label class="field">
        <span>Client id</span>
        <input
          value={auth.client_id ?? ''}
          onInput={(event) => onChange({ ...auth, client_id: event.currentTarget.value || undefined })}
        />
      </label>
      <label class="field">
        <span>Client secret</span>
        <input
          type="password"
          autocomplete="off"
          value={auth.client_secret ?? ''}
          onInput={(event) => onChange({ ...auth, client_secret: event.currentTarget.value || undefined })}
        />
      </label>
      <label class="field">
        <span>Scopes</span>
        <input onInput={(event) => onChange({ ...auth, scopes: parseScopes(event.currentTarget.value) })} />
        <span class="hint">Separated by spaces. Empty: those that the server names.</span>
      </label>
    </details>
  );
}

function parseScopes(text: string): string[] | undefined {
  const scopes = text.split(/\s+/).filter((scope) => scope !== '');
  return scopes.length === 0 ? undefined : scopes;
}
