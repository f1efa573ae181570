import { useEffect } from 'preact/hooks';
import { collect } from '../client/collect.js';
import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { ErrorNote } from '../parts/error-note.js';
import { formatNumber } from '../parts/format.js';

interface Props {
  modelId: string;
  thinking: boolean;
  onModel: (id: string) => void;
  onThinking: (on: boolean) => void;
}

export function ModelField({ modelId, thinking, onModel, onThinking }: Props) {
  const client = useClient();
  const { value: models, error } = useLoad((signal) => collect(client.eachModel({}, { signal })), [client]);
  const chosen = models?.find(({ id }) => id === modelId);
  useEffect(() => {
    if (modelId === '' && models?.[0] !== undefined) onModel(models[0].id);
  }, [models]);

  return (
    <>
      <ErrorNote error={error} />
      <label class="field">
        <span>Model</span>
        <select value={modelId} disabled={models === null} onChange={(event) => onModel(event.currentTarget.value)}>
          {models?.map(({ id, display_name: name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
        <span class="hint">
          {chosen === undefined ? '\u00a0' : `Context of ${formatNumber(chosen.context_window)} tokens`}
        </span>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={thinking}
          disabled={chosen?.supports_thinking === false}
          onChange={(event) => onThinking(event.currentTarget.checked)}
        />
        <span>
          Thinking <span class="hint">shows the model’s reasoning beside its answers</span>
        </span>
      </label>
    </>
  );
}
