import { useState } from 'preact/hooks';
import { safeHref } from '../markdown/links.js';

interface OpenAuthorization {
  /** Null before, and if the address is no link. */
  address: string | null;
  open: (url: string | null | undefined) => void;
}

/** Opens the page on which a person authorizes a server. A browser may hold it back as a pop-up: then the link is there. */
export function useOpenAuthorization(): OpenAuthorization {
  const [address, setAddress] = useState<string | null>(null);
  return {
    address,
    open(url) {
      const safe = url == null ? null : safeHref(url);
      setAddress(safe);
      if (safe !== null) window.open(safe, '_blank', 'noopener,noreferrer');
    },
  };
}

export function AuthorizationLink({ address }: { address: string | null }) {
  if (address === null) return null;
  return (
    <p class="hint">
      The page of the authorization server is open in another tab. If not:{' '}
      <a href={address} target="_blank" rel="noopener noreferrer">
        Open the authorization page
      </a>
    </p>
  );
}
