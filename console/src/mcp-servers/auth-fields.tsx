import { SelectField, TextField } from '../parts/fields.js';
import { OauthFields, type Auth } from './oauth-fields.js';

const KINDS = [
  ['NONE', 'None'],
  ['BEARER', 'Bearer token'],
  ['HEADER', 'Header of its own'],
  ['OAUTH', 'OAuth: a person authorizes'],
] as const;

interface Props {
  auth: Auth;
  onChange: (auth: Auth) => void;
}

export function AuthFields({ auth, onChange }: Props) {
  return (
    <fieldset>
      <legend>Credential</legend>
      <SelectField
        label="Kind"
        value={auth.type ?? 'NONE'}
        options={KINDS}
        onChange={(type) => onChange(emptyAuth(type))}
      />
      {auth.type === 'BEARER' && (
        <Secret label="Token" value={auth.token ?? ''} onChange={(token) => onChange({ ...auth, token })} />
      )}
      {auth.type === 'OAUTH' && <OauthFields auth={auth} onChange={onChange} />}
      {auth.type === 'HEADER' && (
        <>
          <TextField label="Header name" required value={auth.name} onChange={(name) => onChange({ ...auth, name })} />
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

function Secret(props: { label: string; value: string; onChange: (value: string) => void }) {
  return <TextField type="password" autocomplete="off" required {...props} />;
}
