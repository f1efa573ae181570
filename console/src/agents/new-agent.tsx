import { useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ActionForm } from '../parts/action-form.js';
import { TextAreaField, TextField } from '../parts/fields.js';
import { PageHead } from '../parts/page-head.js';
import { navigate } from '../route.js';
import { ModelField } from '../sessions/model-field.js';

export function NewAgent() {
  const client = useClient();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [modelId, setModelId] = useState('');
  const [thinking, setThinking] = useState(true);
  const [instruction, setInstruction] = useState('');
  const creating = useAction(async () => {
    const { id } = await client.createAgent({
      ...{ name, description, model_id: modelId, thinking_enabled: thinking },
      instruction: instruction === '' ? null : instruction,
    });
    navigate(`/agents/${id}`);
  });
  return (
    <>
      <PageHead title="New agent" back="#/agents" />
      <ActionForm action={creating} submit="Create agent" incomplete={name === '' || modelId === ''} back="#/agents">
        <TextField
          label="Name"
          hint="Lowercase letters, digits and single hyphens. It never changes."
          value={name}
          onChange={setName}
        />
        <TextField label="Description" value={description} onChange={setDescription} />
        <ModelField modelId={modelId} thinking={thinking} onModel={setModelId} onThinking={setThinking} />
        <TextAreaField label="Instruction" rows={6} value={instruction} onChange={setInstruction} />
      </ActionForm>
    </>
  );
}
