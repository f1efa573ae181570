import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';

interface Tab {
  name: string;
  content: () => ComponentChildren;
}

/** Of the tabs, only the content of the chosen one is made. */
export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  const id = useId();
  const [name, setName] = useState(tabs[0]!.name);
  const index = Math.max(
    0,
    tabs.findIndex((tab) => tab.name === name),
  );
  const move = (by: number): void => {
    const next = (index + by + tabs.length) % tabs.length;
    setName(tabs[next]!.name);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return (
    <>
      <div
        class="tab-list"
        role="tablist"
        aria-label={label}
        onKeyDown={(event) => {
          if (event.key === 'ArrowRight') move(1);
          else if (event.key === 'ArrowLeft') move(-1);
        }}
      >
        {tabs.map((tab, place) => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={`${id}-${place}`}
            aria-selected={place === index}
            aria-controls={`${id}-panel`}
            tabIndex={place === index ? 0 : -1}
            onClick={() => setName(tab.name)}
          >
            {tab.name}
          </button>
        ))}
      </div>
      <div class="tab-panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${index}`} tabIndex={0}>
        {tabs[index]!.content()}
      </div>
    </>
  );
}
