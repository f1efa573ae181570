import { useEffect, useState } from 'preact/hooks';
import { takeKey, forgetKey, keepKey } from './client/key.js';
import { ServiceProvider } from './client/service.js';
import { Shell } from './shell.js';
import { SignIn } from './sign-in/sign-in.js';

/** Shows the sign-in form until there is a key, then the console. */
export function App() {
  const [key, setKey] = useState(takeKey);
  const [refused, setRefused] = useState(false);

  useEffect(() => {
    // A link with a key, opened in a tab that already shows the console.
    const onHashChange = (): void => setKey(takeKey());
    addEventListener('hashchange', onHashChange);
    return () => removeEventListener('hashchange', onHashChange);
  }, []);

  const signOut = (): void => {
    forgetKey();
    setKey(null);
  };
  if (key === null) {
    const signIn = (typed: string): void => {
      keepKey(typed);
      setRefused(false);
      setKey(typed);
    };
    return <SignIn refused={refused} onSignIn={signIn} />;
  }
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
