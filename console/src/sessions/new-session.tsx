import { useState } from 'preact/hooks';
import type { NewSession as Body } from '../../../client/src/index.js';
import { collect } from '../client/collect.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useLoad } from '../client/use-load.js';
import { CheckList } from '../parts/check-list.js';
import { ErrorNote } from '../parts/error-note.js';
import { PageHead } from '../parts/page-head.js';
import { navigate } from '../route.js';
import { ModelField } from './model-field.js';

export function NewSession() {
  const client = useClient();
  const servers = useLoad((signal) => collect(client.eachMcpServer({ signal })), [client]);
  const [body, setBody] = useState<Body>({ model_id: '', thinking_enabled: true, mcp_servers: [] });
  const [title, setTitle] = useState('');
  const change = (to: Partial<Body>): void => setBody((before) => ({ ...before, ...to }));
  const creating = useAction(async () => {
    const session = await client.createSession({ ...body, ...(title !== '' && { metadata: { title } }) });
    navigate(`/sessions/${session.id}`);
  });

  return (
    <>
      <PageHead title="New session" />
      <form class="form" onSubmit={(event) => (event.preventDefault(), creating.run())}>
        <label class="field">
          <span>Title</span>
          <input
            value={title}
            maxLength={512}
            placeholder="Optional"
            onInput={(event) => setTitle(event.currentTarget.value)}
          />
        </label>
        <ModelField
          modelId={body.model_id}
          thinking={body.thinking_enabled === true}
          onModel={(id) => change({ model_id: id })}
          onThinking={(on) => change({ thinking_enabled: on })}
        />
        <label class="field">
          <span>Instruction</span>
          <textarea
            rows={5}
            maxLength={100_000}
            placeholder="Optional: who the agent is and how it answers"
            onInput={(event) => change({ instruction: event.currentTarget.value || null })}
          />
        </label>
        <fieldset>
          <legend>MCP servers</legend>
          <ErrorNote error={servers.error} />
          {servers.value?.length === 0 && (
            <p class="hint">
              None is registered. <a href="#/mcp-servers/new">Register one</a> to give the agent its tools.
            </p>
          )}
          <CheckList
            options={(servers.value ?? []).map(({ id, name, tools }) => ({
              value: id,
              label: name,
              hint: `${tools.length} tools`,
            }))}
            selected={body.mcp_servers ?? []}
            onChange={(ids) => change({ mcp_servers: ids })}
          />
        </fieldset>
        <ErrorNote error={creating.error} />
        <div class="actions">
          <button class="primary" disabled={creating.busy || body.model_id === ''}>
            Create session
          </button>
          <a class="button quiet" href="#/sessions">
            Back
          </a>
        </div>
      </form>
    </>
  );
}
