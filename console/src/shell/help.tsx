import { useEffect, useRef } from 'preact/hooks';

const KEYS = [
  ['Ctrl K', 'Search views, sessions and commands'],
  ['/', 'Search sessions'],
  ['J  K', 'Next and previous session, or open question'],
  ['Enter', 'Open it'],
  ['A  D', 'Allow, deny the chosen call in “Waiting for you”'],
  ['N', 'New session'],
  ['S  I', 'Sessions, Waiting for you'],
  ['C', 'Write to the agent'],
  ['Esc', 'Close what is open; leave a field'],
  ['?', 'This list'],
] as const;

export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label="Keys" onClose={onClose}>
      <h2>Keys</h2>
      <dl class="keys">
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(/\s+/).map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button onClick={() => dialog.current?.close()}>Close</button>
    </dialog>
  );
}
