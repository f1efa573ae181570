import { Icon } from '../parts/icon.js';

export interface Pair {
  key: string;
  value: string;
}

/** The title has a field of its own. */
export function pairsOf({ title: _, ...others }: Record<string, string>): Pair[] {
  return Object.entries(others).map(([key, value]) => ({ key, value }));
}

export function metadataOf(title: string, pairs: readonly Pair[]): Record<string, string> {
  const given = pairs.filter(({ key }) => key !== '').map(({ key, value }) => [key, value] as const);
  return { ...(title !== '' && { title }), ...Object.fromEntries(given) };
}

interface Props {
  pairs: Pair[];
  onChange: (pairs: Pair[]) => void;
}

/** Your own pairs of texts, by which sessions are found and usage is summed up. */
export function MetadataField({ pairs, onChange }: Props) {
  const set = (index: number, change: Partial<Pair>): void =>
    onChange(pairs.map((pair, at) => (at === index ? { ...pair, ...change } : pair)));
  return (
    <details open={pairs.length > 0}>
      <summary>
        Metadata <span class="hint">finds sessions and sums up usage</span>
      </summary>
      <div class="form">
        {pairs.map((pair, index) => (
          <div key={index} class="pair">
            <input
              aria-label={`Key ${index + 1}`}
              placeholder="key"
              maxLength={64}
              value={pair.key}
              onInput={(event) => set(index, { key: event.currentTarget.value })}
            />
            <input
              aria-label={`Value ${index + 1}`}
              placeholder="value"
              maxLength={512}
              value={pair.value}
              onInput={(event) => set(index, { value: event.currentTarget.value })}
            />
            <button
              type="button"
              class="quiet"
              aria-label={`Remove pair ${index + 1}`}
              onClick={() => onChange(pairs.filter((_, at) => at !== index))}
            >
              <Icon name="close" />
            </button>
          </div>
        ))}
        <div class="actions">
          <button
            type="button"
            disabled={pairs.length >= 16}
            onClick={() => onChange([...pairs, { key: '', value: '' }])}
          >
            <Icon name="plus" /> Add a pair
          </button>
        </div>
      </div>
    </details>
  );
}
