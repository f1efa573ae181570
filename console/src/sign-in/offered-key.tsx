interface Props {
  offered: string;
  /** The key of this tab; null when it is not signed in. */
  current: string | null;
  onAccept: () => void;
  onRefuse: () => void;
}

/** Asks before a key from a link signs this tab in: whoever made the link would see what is done with it. */
export function OfferedKey({ offered, current, onAccept, onRefuse }: Props) {
  return (
    <main class="sign-in">
      <h1>Sign in with the key of a link?</h1>
      <p>
        The link that you opened has the API key <code>{offered}</code>.{' '}
        {current !== null && (
          <>
            It would replace your key <code>{shortened(current)}</code> in this tab.
          </>
        )}
      </p>
      <p>
        You would work in the project of that key. Whoever owns the project can read what you send, upload and enter
        there, access tokens of MCP servers included. Go on only if the link is from someone you trust.
      </p>
      <div class="actions">
        <button class="danger" onClick={onAccept}>
          Use the key of the link
        </button>
        <button class="primary" onClick={onRefuse}>
          {current === null ? 'Do not use it' : 'Keep my key'}
        </button>
      </div>
    </main>
  );
}

function shortened(key: string): string {
  return `${key.slice(0, 10)}…`;
}
