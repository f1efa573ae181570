import { OauthFields, type Auth } from './oauth-fields.js';

const KINDS: [Auth['type'], string][] = [
  ['NONE', 'None'],
  ['BEARER', 'Bearer token'],
  ['HEADER', 'Header of its own'],
  ['OAUTH', 'OAuth: a person authorizes'],
];

interface Props {
  auth: Auth;
  onChange: (auth: Auth) => void;
}

export function AuthFields({ auth, onChange }: Props) {
  return (
    <fieldset>
      <legend>Credential</legend>
      <label class="field">
        <span>Kind</span>
        <select value={auth.type} onChange={(event) => onChange(emptyAuth(event.currentTarget.value as Auth['type']))}>
          {KINDS.map(([type, label]) => (
            <option key={type} value={type}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {auth.type === 'BEARER' && (
        <Secret label="Token" value={auth.token ?? ''} onChange={(token) => onChange({ ...auth, token })} />
      )}
      {auth.type === 'OAUTH' && <OauthFields auth={auth} onChange={onChange} />}
      {auth.type === 'HEADER' && (
        <>
          <label class="field">
            <span>Header name</span>
            <input
              required
              value={auth.name}
              onInput={(event) => onChange({ ...auth, name: event.currentTarget.value })}
            />
          </label>
          <Secret label="Header value" value={auth.value ?? ''} onChange={(value) => onChange({ ...auth, value })} />
        </>
      )}
    </fieldset>
  );
}

function emptyAuth(type: Auth['type']): Auth {
  if (type === 'BEARER') return { type, token: '' };
  if (type === 'HEADER') return { type, name: '', value: '' };
  return { type };
}

function Secret({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="password"
        autocomplete="off"
        required
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}
