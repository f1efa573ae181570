import { exactText } from '../../../src/platform/exact-json.js';

/** The output of a turn, as a form that is filled in: each field with its name. */
export function OutputView({ value }: { value: Record<string, unknown> }) {
  return (
    <section class="output" aria-label="Output">
      <h3>Output</h3>
      <Value value={value} />
    </section>
  );
}

function Value({ value }: { value: unknown }) {
  if (typeof value !== 'object' || value === null) return <span class="value">{plainText(value)}</span>;
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return <span class="hint">{isList ? 'no items' : 'no fields'}</span>;
  if (!isList) {
    return (
      <dl>
        {entries.map(([name, field]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Value value={field} />
            </dd>
          </div>
        ))}
      </dl>
    );
  }
  return (
    <ol>
      {entries.map(([index, item]) => (
        <li key={index}>
          <Value value={item} />
        </li>
      ))}
    </ol>
  );
}

/** A text as it is; a number with all its digits. */
function plainText(value: unknown): string {
  const json = exactText(value);
  return typeof value === 'string' && json.startsWith('"') ? value : json;
}
