import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { CheckList } from '../parts/check-list.js';

interface Props {
  modelId: string;
  selected: string[];
  onChange: (modelIds: string[]) => void;
}

/** The models that a turn goes on with when its own fails, in the order in which they were chosen. */
export function FallbackField({ modelId, selected, onChange }: Props) {
  const client = useClient();
  const { value: models } = useLoad((signal) => Array.fromAsync(client.eachModel({}, { signal })), [client]);
  const others = (models ?? []).filter(({ id }) => id !== modelId);
  if (others.length === 0) return null;
  return (
    <details open={selected.length > 0}>
      <summary>
        Fallback models <span class="hint">{selected.length === 0 ? 'none' : selected.join(', then ')}</span>
      </summary>
      <fieldset>
        <legend>When the model fails, the turn goes on with</legend>
        <CheckList
          options={others.map(({ id, display_name: label }) => ({ value: id, label }))}
          selected={selected}
          onChange={onChange}
        />
      </fieldset>
    </details>
  );
}
