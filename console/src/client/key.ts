const STORED = 'api-key';
const FRAGMENT = '#key=';

/** What keys need of the browser's window. */
export interface Tab {
  location: { hash: string; hostname: string };
  history: { replaceState: (state: null, unused: '', address: string) => void };
  /** A key in it survives a reload, and is gone when the tab closes. */
  sessionStorage: {
    getItem: (name: string) => string | null;
    setItem: (name: string, value: string) => void;
    clear: () => void;
  };
}

export interface Keys {
  key: string | null;
  /** A key from a link, which a person must accept first: the owner of its project sees what is sent with it. */
  offered: string | null;
}

/**
 * The key of this tab, and the one that a link brings in its fragment (`#key=…`, removed from the address at once). On
 * this computer's own address, where `npm start` prints such a link, a tab without a key takes it.
 */
export function takeKeys(tab: Tab): Keys {
  const key = tab.sessionStorage.getItem(STORED);
  const offered = takeFragment(tab);
  if (offered === null || offered === key) return { key, offered: null };
  if (key !== null || !isLoopback(tab.location.hostname)) return { key, offered };
  keepKey(tab, offered);
  return { key: offered, offered: null };
}

/** Signs the tab in. What it stored for another key is forgotten. */
export function keepKey(tab: Tab, key: string): void {
  forgetKey(tab);
  tab.sessionStorage.setItem(STORED, key);
}

export function forgetKey({ sessionStorage }: Tab): void {
  sessionStorage.clear();
}

export function hasKeyInFragment({ location }: Tab): boolean {
  return location.hash.startsWith(FRAGMENT);
}

function takeFragment(tab: Tab): string | null {
  if (!hasKeyInFragment(tab)) return null;
  const given = tab.location.hash.slice(FRAGMENT.length);
  tab.history.replaceState(null, '', '#/sessions');
  try {
    return decodeURIComponent(given) || null;
  } catch {
    return null;
  }
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
