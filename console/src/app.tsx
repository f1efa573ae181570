import { useEffect, useState } from 'preact/hooks';
import { forgetKey, hasKeyInFragment, keepKey, takeKeys } from './client/key.js';
import { ServiceProvider } from './client/service.js';
import { Shell } from './shell.js';
import { OfferedKey } from './sign-in/offered-key.js';
import { SignIn } from './sign-in/sign-in.js';

/** Shows the sign-in form until there is a key, then the console. A key from a link is asked about first. */
export function App() {
  const [{ key, offered }, setKeys] = useState(() => takeKeys(window));
  const [refused, setRefused] = useState(false);

  useEffect(() => {
    // A link with a key, opened in a tab that already shows the console.
    const onHashChange = (): void => {
      if (hasKeyInFragment(window)) setKeys(takeKeys(window));
    };
    addEventListener('hashchange', onHashChange);
    return () => removeEventListener('hashchange', onHashChange);
  }, []);

  const signIn = (given: string): void => {
    keepKey(window, given);
    setRefused(false);
    setKeys({ key: given, offered: null });
  };
  const signOut = (): void => {
    forgetKey(window);
    setKeys({ key: null, offered: null });
  };
  if (offered !== null) {
    return (
      <OfferedKey
        offered={offered}
        current={key}
        onAccept={() => signIn(offered)}
        onRefuse={() => setKeys({ key, offered: null })}
      />
    );
  }
  if (key === null) return <SignIn refused={refused} onSignIn={signIn} />;
  const onRefused = (): void => {
    setRefused(true);
    signOut();
  };
  return (
    <ServiceProvider key={key} apiKey={key} onRefused={onRefused}>
      <Shell onSignOut={signOut} />
    </ServiceProvider>
  );
}
