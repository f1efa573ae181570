import { useEffect } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { ErrorNote } from '../parts/error-note.js';
import { Checkbox, SelectField } from '../parts/fields.js';
import { formatNumber } from '../parts/format.js';

interface Props {
  modelId: string;
  thinking: boolean;
  onModel: (id: string) => void;
  onThinking: (on: boolean) => void;
}

export function ModelField({ modelId, thinking, onModel, onThinking }: Props) {
  const client = useClient();
  const { value: models, error } = useLoad((signal) => Array.fromAsync(client.eachModel({}, { signal })), [client]);
  const chosen = models?.find(({ id }) => id === modelId);
  useEffect(() => {
    if (modelId === '' && models?.[0] !== undefined) onModel(models[0].id);
  }, [models]);

  return (
    <>
      <ErrorNote error={error} />
      <SelectField
        label="Model"
        hint={chosen === undefined ? '\u00a0' : `Context of ${formatNumber(chosen.context_window)} tokens`}
        value={modelId}
        options={models?.map(({ id, display_name: name }) => [id, name] as const) ?? []}
        disabled={models === null}
        onChange={onModel}
      />
      <Checkbox
        label="Thinking"
        hint={
          chosen?.supports_thinking === false ? 'this model cannot' : 'shows the model’s reasoning beside its answers'
        }
        checked={thinking && chosen?.supports_thinking !== false}
        disabled={chosen?.supports_thinking === false}
        onChange={onThinking}
      />
    </>
  );
}
