import { useState } from 'preact/hooks';
import type { NewSession as Body } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ActionForm } from '../parts/action-form.js';
import { TextAreaField, TextField } from '../parts/fields.js';
import { PageHead } from '../parts/page-head.js';
import { navigate } from '../route.js';
import { CustomToolsField } from './custom-tools-field.js';
import { McpServersField } from './mcp-servers-field.js';
import { ModelField } from './model-field.js';
import { parseCustomTools, sessionTools, type AskingByServer } from './session-tools.js';

export function NewSession() {
  const client = useClient();
  const [modelId, setModelId] = useState('');
  const [thinking, setThinking] = useState(true);
  const [title, setTitle] = useState('');
  const [instruction, setInstruction] = useState('');
  const [servers, setServers] = useState<string[]>([]);
  const [asking, setAsking] = useState<AskingByServer>({});
  const [customTools, setCustomTools] = useState('');
  const creating = useAction(async () => {
    const body: Body = {
      model_id: modelId,
      thinking_enabled: thinking,
      instruction: instruction || null,
      mcp_servers: servers,
      metadata: title === '' ? {} : { title },
      tools: sessionTools(servers, asking, parseCustomTools(customTools)),
    };
    const session = await client.createSession(body);
    navigate(`/sessions/${session.id}`);
  });

  return (
    <>
      <PageHead title="New session" />
      <ActionForm action={creating} submit="Create session" incomplete={modelId === ''} back="#/sessions">
        <TextField label="Title" value={title} maxLength={512} placeholder="Optional" onChange={setTitle} />
        <ModelField modelId={modelId} thinking={thinking} onModel={setModelId} onThinking={setThinking} />
        <TextAreaField
          label="Instruction"
          rows={5}
          maxLength={100_000}
          value={instruction}
          placeholder="Optional: who the agent is and how it answers"
          onChange={setInstruction}
        />
        <McpServersField selected={servers} asking={asking} onSelect={setServers} onAsking={setAsking} />
        <CustomToolsField json={customTools} onChange={setCustomTools} />
      </ActionForm>
    </>
  );
}
