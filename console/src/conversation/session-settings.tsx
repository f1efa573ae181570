import type { Session } from '../../../client/src/index.js';

export function SessionSettings({ session }: { session: Session }) {
  const { instruction, tools, metadata } = session;
  const { title: _title, ...others } = metadata;
  if (instruction === null && tools.length === 0 && Object.keys(others).length === 0) return null;
  return (
    <details class="instruction">
      <summary>Settings</summary>
      {instruction !== null && <p class="plain-text">{instruction}</p>}
      {Object.entries(others).map(([key, value]) => (
        <span key={key} class="tag">
          {key}: {value}
        </span>
      ))}
      {tools.length > 0 && (
        <>
          <h2>Tools</h2>
          <pre tabIndex={0}>{JSON.stringify(tools, null, 2)}</pre>
        </>
      )}
    </details>
  );
}
