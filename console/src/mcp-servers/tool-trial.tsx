import type { TargetedMouseEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { McpServer, McpServerTool, McpToolResult, NewMcpToolCall } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useLoad } from '../client/use-load.js';
import { useAnnounce } from '../parts/announcer.js';
import { ErrorNote } from '../parts/error-note.js';
import { SelectField, TextAreaField } from '../parts/fields.js';
import { isFirstClick } from '../parts/first-click.js';
import type { FieldValue } from '../parts/form-fields.js';
import { literal, RequestCode } from '../parts/request-code.js';
import { SchemaField } from '../parts/schema-field.js';
import { inputFields, inputOf } from './input-fields.js';
import { ToolAnswer } from './tool-answer.js';

const REASONS = {
  not_allowed: 'Agents may not use this tool. Allow it below, then try it.',
  held_back: 'This tool is new or has changed. Accept it below, then try it.',
};

interface Props {
  server: McpServer;
  tool: McpServerTool;
}

export function ToolTrial({ server, tool }: Props) {
  if (tool.status !== 'offered') return <p class="hint">{REASONS[tool.status]}</p>;
  if (tool.task_support === 'required') {
    return (
      <p class="hint">
        This tool runs only as a task. <a href={`#/sessions/new?server=${server.id}`}>Try it in a session</a>
      </p>
    );
  }
  return <TrialForm server={server} tool={tool} />;
}

function TrialForm({ server, tool }: Props) {
  const client = useClient();
  const announce = useAnnounce();
  const [values, setValues] = useState<Record<string, FieldValue>>({});
  /** The input as JSON; null while the fields are used. */
  const [json, setJson] = useState<string | null>(null);
  const [user, setUser] = useState('');
  const [made, setMade] = useState<{ body: NewMcpToolCall; result: McpToolResult } | null>(null);
  const fields = inputFields(tool.input_schema);
  const readInput = (): NewMcpToolCall['input'] => (json === null ? inputOf(fields, values) : objectOf(json));
  const calling = useAction(async () => {
    setMade(null);
    const body = { input: readInput(), ...(server.credentials === 'user' && { user }) };
    const result = await client.callMcpTool(server.id, tool.name, body);
    setMade({ body, result });
    announce(result.is_error ? 'The call failed' : 'The result is here');
  });
  const answer = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (made !== null) answer.current!.scrollIntoView({ block: 'nearest' });
  }, [made]);
  // The call is real: Enter in a field and the second click of a double click must not make one.
  const click = (event: TargetedMouseEvent<HTMLButtonElement>): void => {
    if (isFirstClick(event) && event.currentTarget.form!.reportValidity()) calling.run();
  };
  const switchToJson = useAction(async () => setJson(JSON.stringify(inputOf(fields, values), null, 2)));
  return (
    <div class="tool-trial">
      <form class="form" aria-label={`Call ${tool.name}`} onSubmit={(event) => event.preventDefault()}>
        {tool.annotations?.readOnlyHint !== true && (
          <p class="note warning">The call is real: what the tool changes is changed.</p>
        )}
        {server.credentials === 'user' && <UserChoice serverId={server.id} value={user} onChange={setUser} />}
        {json === null &&
          fields.map(({ form }) => (
            <SchemaField
              key={form.name}
              field={form}
              value={values[form.name] ?? form.initial}
              onChange={(value) => setValues((all) => ({ ...all, [form.name]: value }))}
            />
          ))}
        {json === null && fields.length === 0 && <p class="hint">The tool takes no input.</p>}
        {json !== null && (
          <TextAreaField label="Input" class="code" rows={8} spellcheck={false} value={json} onChange={setJson} />
        )}
        <ErrorNote error={calling.error ?? switchToJson.error} />
        <div class="actions">
          <button type="button" class="primary" disabled={calling.busy} aria-busy={calling.busy} onClick={click}>
            {calling.busy ? 'Calling …' : 'Call the tool'}
          </button>
          <button
            type="button"
            class="quiet"
            onClick={() => (json === null ? switchToJson.run() : (switchToJson.clear(), setJson(null)))}
          >
            {json === null ? 'Enter JSON' : 'Use the fields'}
          </button>
        </div>
      </form>
      {made !== null && (
        <div ref={answer}>
          <ToolAnswer result={made.result} />
          <TrialCode server={server} tool={tool} body={made.body} />
        </div>
      )}
    </div>
  );
}

function objectOf(text: string): NewMcpToolCall['input'] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('The input must be a JSON object, such as {"days": 3}.');
  }
  return value as NewMcpToolCall['input'];
}

function UserChoice({ serverId, ...field }: { serverId: string; value: string; onChange: (user: string) => void }) {
  const client = useClient();
  const { value: page, error } = useLoad(
    (signal) => client.listCredentials({ mcp_server_id: serverId, limit: 100 }, { signal }),
    [client, serverId],
  );
  const users = page?.items.map(({ user }) => [user, user] as const) ?? [];
  return (
    <>
      <SelectField label="As the user" required options={[['', '–'], ...users]} {...field} />
      {page?.items.length === 0 && (
        <p class="hint">
          No user is connected to this server yet. <a href="#/connections">Connect one</a>
        </p>
      )}
      <ErrorNote error={error} />
    </>
  );
}

function TrialCode({ server, tool, body }: Props & { body: NewMcpToolCall }) {
  const args = [`'${server.id}'`, JSON.stringify(tool.name), literal(body)].join(', ');
  return (
    <details>
      <summary>The same as a request</summary>
      <RequestCode
        request={{
          method: 'POST',
          path: `/v1/mcp-servers/${server.id}/tools/${encodeURIComponent(tool.name)}/call`,
          body,
          client: `callMcpTool(${args})`,
        }}
      />
    </details>
  );
}
