import { useState } from 'preact/hooks';
import { TextField } from '../parts/fields.js';

interface Props {
  /** The service did not accept the last key. */
  refused: boolean;
  onSignIn: (key: string) => void;
}

export function SignIn({ refused, onSignIn }: Props) {
  const [key, setKey] = useState('');
  return (
    <main class="sign-in">
      <h1>Agent sessions</h1>
      <p>Sign in with an API key of your project. It stays in this tab and is sent to this service only.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== '') onSignIn(key.trim());
        }}
      >
        {refused && (
          <p role="alert" class="note error">
            The service does not accept this key. It may be mistyped, revoked or expired.
          </p>
        )}
        <TextField
          label="API key"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={key}
          onChange={setKey}
        />
        <button class="primary">Sign in</button>
      </form>
      <p class="hint">
        <code>npm start</code> prints a demo key. An operator makes one with{' '}
        <code>npm run --silent keys -- create --project NAME</code>.
      </p>
    </main>
  );
}
