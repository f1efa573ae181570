import { useState } from 'preact/hooks';
import type { NewSession as Body, Session } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useLoad } from '../client/use-load.js';
import { ActionForm } from '../parts/action-form.js';
import { ErrorNote } from '../parts/error-note.js';
import { Checkbox, TextAreaField, TextField } from '../parts/fields.js';
import { USER_PATTERN, USER_TITLE } from '../connections/user-field.js';
import { PageHead } from '../parts/page-head.js';
import { literal, RequestCode } from '../parts/request-code.js';
import { navigate } from '../route.js';
import { BudgetFields, budgetOf, emptyBudget, type BudgetForm } from './budget-fields.js';
import { CustomToolsField } from './custom-tools-field.js';
import { FallbackField } from './fallback-field.js';
import { McpServersField } from './mcp-servers-field.js';
import { MetadataField, metadataOf, pairsOf, type Pair } from './metadata-field.js';
import { ModelField } from './model-field.js';
import {
  askingOf,
  customToolsOf,
  parseCustomTools,
  sessionTools,
  withMemoryOfUser,
  workspaceOf,
  type AskingByServer,
} from './session-tools.js';
import { WorkspaceField } from './workspace-field.js';

interface Props {
  /** Id of the session that the new one is to be like. */
  like: string | null;
  /** Id of an MCP server that the session begins with. */
  server: string | null;
}

export function NewSession({ like, server }: Props) {
  const client = useClient();
  const { value: model, error } = useLoad(
    (signal) => (like === null ? Promise.resolve(null) : client.getSession(like, { signal })),
    [client, like],
  );
  const isReady = like === null || model !== null;
  return (
    <>
      <PageHead title="New session" back="#/sessions" />
      <ErrorNote error={error} />
      {isReady && <SessionForm key={model?.id} model={model} server={server} />}
    </>
  );
}

function SessionForm({ model, server }: { model: Session | null; server: string | null }) {
  const client = useClient();
  const [modelId, setModelId] = useState(model?.model_id ?? '');
  const [thinking, setThinking] = useState(model?.thinking_enabled ?? true);
  const [fallbacks, setFallbacks] = useState<string[]>(model?.fallback_model_ids ?? []);
  const [title, setTitle] = useState(model?.metadata.title ?? '');
  const [pairs, setPairs] = useState<Pair[]>(() => pairsOf(model?.metadata ?? {}));
  const [instruction, setInstruction] = useState(model?.instruction ?? '');
  const [servers, setServers] = useState<string[]>(model?.mcp_servers ?? (server === null ? [] : [server]));
  const [asking, setAsking] = useState<AskingByServer>(() => askingOf(model?.tools ?? []));
  const [workspace, setWorkspace] = useState(() => workspaceOf(model?.tools ?? []));
  const [mayWait, setMayWait] = useState(() => model?.tools.some(({ type }) => type === 'wait') ?? false);
  const [memories, setMemories] = useState(() => model?.tools.filter((tool) => tool.type === 'memory') ?? []);
  const [customTools, setCustomTools] = useState(() => customToolsOf(model?.tools ?? []));
  const [user, setUser] = useState(model?.user ?? '');
  const [budget, setBudget] = useState<BudgetForm>(() => emptyBudget(model?.budget ?? null));

  /** @throws SyntaxError if the custom tools are not JSON */
  const read = (): Body => ({
    model_id: modelId,
    thinking_enabled: thinking,
    instruction: instruction || null,
    mcp_servers: servers,
    metadata: metadataOf(title, pairs),
    tools: sessionTools(servers, asking, workspace, mayWait, memories, parseCustomTools(customTools)),
    ...(fallbacks.length > 0 && { fallback_model_ids: fallbacks }),
    ...(user !== '' && { user }),
    ...(budget.amount !== '' && { budget: budgetOf(budget) }),
  });
  const creating = useAction(async () => {
    const session = await client.createSession(read());
    navigate(`/sessions/${session.id}`);
  });

  return (
    <div class="split">
      <ActionForm action={creating} submit="Create session" incomplete={modelId === ''} back="#/sessions">
        <TextField label="Title" value={title} maxLength={512} placeholder="Optional" onChange={setTitle} />
        <ModelField modelId={modelId} thinking={thinking} onModel={setModelId} onThinking={setThinking} />
        <FallbackField modelId={modelId} selected={fallbacks} onChange={setFallbacks} />
        <TextAreaField
          label="Instruction"
          rows={5}
          maxLength={100_000}
          value={instruction}
          placeholder="Optional: who the agent is and how it answers"
          onChange={setInstruction}
        />
        <McpServersField selected={servers} asking={asking} onSelect={setServers} onAsking={setAsking} />
        <WorkspaceField workspace={workspace} onChange={setWorkspace} />
        <Checkbox
          label="May wait"
          hint="the agent may wait for up to a day within a turn, and go on by itself"
          checked={mayWait}
          onChange={setMayWait}
        />
        <TextField
          label="User"
          hint="For whom the agent acts: servers that are called as the user get this person’s credential"
          placeholder="Optional, as your back end names the person"
          pattern={USER_PATTERN}
          title={USER_TITLE}
          autocomplete="off"
          value={user}
          onChange={setUser}
        />
        <Checkbox
          label="Remembers the user"
          hint="the agent keeps files between the sessions of this user; needs a user"
          checked={memories.some((memory) => memory.of === 'user')}
          onChange={(isWanted) => setMemories(withMemoryOfUser(memories, isWanted))}
        />
        <CustomToolsField json={customTools} onChange={setCustomTools} />
        <BudgetFields budget={budget} onChange={setBudget} />
        <MetadataField pairs={pairs} onChange={setPairs} />
      </ActionForm>
      <aside class="split-side" aria-label="The request">
        <h2>The same as a request</h2>
        <Request read={read} />
      </aside>
    </div>
  );
}

function Request({ read }: { read: () => Body }) {
  const body = tried(read);
  if (body === null) return <p class="hint">The custom tools are not JSON yet.</p>;
  const shown = Object.fromEntries(Object.entries(body).filter(([, value]) => !isEmpty(value))) as unknown as Body;
  return (
    <RequestCode
      request={{ method: 'POST', path: '/v1/sessions', body: shown, client: `createSession(${literal(shown)})` }}
    />
  );
}

/** Null while somebody types the custom tools. */
function tried(read: () => Body): Body | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}
