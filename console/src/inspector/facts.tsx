import type { ComponentChildren } from 'preact';

/** Names and values; a value of null is left out. */
export function Facts({ facts }: { facts: [name: string, value: ComponentChildren][] }) {
  const known = facts.filter(([, value]) => value !== null && value !== undefined);
  return (
    <dl class="fact-list">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
