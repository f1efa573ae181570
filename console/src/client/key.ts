const STORED = 'api-key';

/** The key of this tab: from the fragment (`#key=…`, removed from the address at once), else from sessionStorage. */
export function takeKey(): string | null {
  const given = /^#key=(.+)$/.exec(location.hash)?.[1];
  if (given !== undefined) {
    keepKey(decodeURIComponent(given));
    history.replaceState(null, '', '#/sessions');
  }
  return sessionStorage.getItem(STORED);
}

/** sessionStorage: the key survives a reload, and is gone when the tab closes. */
export function keepKey(key: string): void {
  sessionStorage.setItem(STORED, key);
}

export function forgetKey(): void {
  sessionStorage.clear();
}
