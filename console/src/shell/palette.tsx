import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Session } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { Icon, type IconName } from '../parts/icon.js';
import { navigate } from '../route.js';
import { titleOf } from '../sessions/title.js';
import { PLACES } from './places.js';

interface Command {
  id: string;
  label: string;
  hint: string;
  icon: IconName;
  run: () => void;
}

interface Props {
  commands: Command[];
  onClose: () => void;
}

const SEARCH_PAUSE_MS = 150;

/** Goes to any view or session, and runs commands, by the keyboard (Ctrl+K, Command+K). */
export function Palette({ commands, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const sessions = useFoundSessions(text.trim());
  useEffect(() => dialog.current?.showModal(), []);
  const places = useMemo(
    () =>
      PLACES.map(({ name, label, icon }) => ({
        ...{ id: name, label, icon, hint: 'Go to' },
        run: () => navigate(`/${name}`),
      })),
    [],
  );
  const matching = [...commands, ...places].filter(({ label }) =>
    label.toLowerCase().includes(text.trim().toLowerCase()),
  );
  const found: Command[] = sessions.map((session) => ({
    ...{ id: session.id, label: titleOf(session), icon: 'message', hint: session.status.toLowerCase() },
    run: () => navigate(`/sessions/${session.id}`),
  }));
  const all = [...matching, ...found];
  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    dialog.current?.close();
    command.run();
  };
  const move = (by: number): void => {
    const next = (chosen + by + all.length) % Math.max(1, all.length);
    setChosen(next);
    document.getElementById(`command-${next}`)?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Commands" onClose={onClose}>
      <label class="palette-field">
        <Icon name="search" />
        <span class="visually-hidden">Search commands and sessions</span>
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls="commands"
          aria-activedescendant={all.length > 0 ? `command-${chosen}` : undefined}
          placeholder="Go to a view or a session, or run a command"
          value={text}
          onInput={(event) => (setText(event.currentTarget.value), setChosen(0))}
          onKeyDown={(event) => {
            const act = { ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: () => run(all[chosen]) }[event.key];
            if (act === undefined) return;
            event.preventDefault();
            act();
          }}
        />
        <kbd>Esc</kbd>
      </label>
      <ul id="commands" role="listbox" aria-label="Commands and sessions">
        {all.map((command, index) => (
          <li
            key={command.id}
            id={`command-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => run(command)}
            onPointerMove={() => setChosen(index)}
          >
            <Icon name={command.icon} />
            <span class="clip">{command.label}</span>
            <span class="hint">{command.hint}</span>
          </li>
        ))}
      </ul>
      {all.length === 0 && <p class="hint palette-none">Nothing has this in its name or its first message.</p>}
    </dialog>
  );
}

/** Sessions whose first message has the text; those that were active last without one. */
function useFoundSessions(text: string): Session[] {
  const client = useClient();
  const [found, setFound] = useState<Session[]>([]);
  useEffect(() => {
    const leave = new AbortController();
    const timer = setTimeout(() => {
      const query = { order: 'activity' as const, limit: 8, ...(text !== '' && { q: text.slice(0, 200) }) };
      client.listSessions(query, { signal: leave.signal }).then(
        ({ items }) => setFound(items),
        // The banner says that the service is away.
        () => undefined,
      );
    }, SEARCH_PAUSE_MS);
    return () => (clearTimeout(timer), leave.abort());
  }, [client, text]);
  return found;
}
