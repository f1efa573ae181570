import { useEffect, useRef, useState } from 'preact/hooks';
import { useService } from '../client/service.js';
import { Icon } from '../parts/icon.js';
import { PLACES, TABS, type Place } from './places.js';
import type { Theme } from './theme.js';
import { ThemeChoice } from './theme-choice.js';
import { useWaitingSessions } from './waiting-sessions.js';

interface Props {
  place: string;
  theme: Theme;
  onTheme: (theme: Theme) => void;
  onSignOut: () => void;
}

export function SideBar({ onSearch, ...props }: Props & { onSearch: () => void }) {
  return (
    <header class="side">
      <a class="brand" href="#/sessions">
        <Mark />
        Agent sessions
      </a>
      <button class="search-button" onClick={onSearch}>
        <Icon name="search" />
        <span class="grow">Search</span>
        <kbd>Ctrl K</kbd>
      </button>
      <nav aria-label="Main">
        {PLACES.map((place) => (
          <PlaceLink key={place.name} place={place} current={props.place} />
        ))}
      </nav>
      <div class="grow" />
      <a class="place" href="../docs" target="_blank" rel="noopener">
        <Icon name="code" /> API reference
      </a>
      <Account {...props} />
    </header>
  );
}

/** Four tabs at the lower edge of a phone: three views, and the others behind “More”. */
export function PhoneTabs(props: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const isOther = !TABS.some(({ name }) => name === props.place);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  useEffect(() => setOpen(false), [props.place]);
  return (
    <nav class="tabs" aria-label="Main">
      {TABS.map((place) => (
        <PlaceLink key={place.name} place={place} current={props.place} />
      ))}
      <button class="place" aria-current={isOther ? 'page' : undefined} onClick={() => setOpen(true)}>
        <Icon name="more" size={20} /> More
      </button>
      <dialog ref={dialog} class="sheet" aria-label="More" onClose={() => setOpen(false)}>
        {isOpen && (
          <>
            {PLACES.slice(TABS.length).map((place) => (
              <PlaceLink key={place.name} place={place} current={props.place} />
            ))}
            <a class="place" href="../docs" target="_blank" rel="noopener">
              <Icon name="code" /> API reference
            </a>
            <Account {...props} />
            <button onClick={() => setOpen(false)}>Close</button>
          </>
        )}
      </dialog>
    </nav>
  );
}

function PlaceLink({ place: { name, label, icon }, current }: { place: Place; current: string }) {
  const { sessions, hasMore } = useWaitingSessions();
  const count = name === 'inbox' && sessions !== null ? sessions.length : 0;
  return (
    <a class="place" href={`#/${name}`} aria-current={current === name ? 'page' : undefined}>
      <Icon name={icon} />
      <span class="clip">{label}</span>
      {count > 0 && (
        <span class="count">
          {count}
          {hasMore && '+'}
        </span>
      )}
    </a>
  );
}

/** Whose data is shown, with which key, and whether the service answers. */
function Account({ theme, onTheme, onSignOut }: Props) {
  const { config, reachable } = useService();
  return (
    <div class="account">
      <div class="account-names">
        <span class={`dot ${reachable ? 'good' : 'bad'}`} title={reachable ? 'Connected' : 'Not connected'} />
        <span class="clip">
          <strong>{config.project ?? '…'}</strong>
          <span class="hint clip">{config.key_name === null ? 'key without a name' : `key ${config.key_name}`}</span>
          <span class="hint clip">{location.host}</span>
          <span class="visually-hidden">{reachable ? 'Connected' : 'Not connected'}</span>
        </span>
      </div>
      <div class="account-actions">
        <ThemeChoice theme={theme} onTheme={onTheme} />
        <button class="quiet" onClick={onSignOut}>
          Sign out
        </button>
      </div>
    </div>
  );
}

function Mark() {
  return (
    <svg class="mark" width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <rect width="20" height="20" rx="6" />
      <path d="M5 6.5h10M5 10h6.5M5 13.5h8.5" />
    </svg>
  );
}
