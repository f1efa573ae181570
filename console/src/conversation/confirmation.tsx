import { useState } from 'preact/hooks';
import type { Answer, ToolConfirmationAction } from '../../../client/src/index.js';
import { exactText, parseExact } from '../../../src/platform/exact-json.js';
import { useService } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { Checkbox, TextAreaField } from '../parts/fields.js';
import { isFirstClick } from '../parts/first-click.js';
import type { FieldValue } from '../parts/form-fields.js';
import { SchemaField } from '../parts/schema-field.js';
import { Time } from '../parts/time.js';
import { AboutTool } from './about-tool.js';
import { changedInput, editableInput } from './changed-input.js';
import { useDecisions } from './decision-context.js';
import { useToolSchema } from './use-tool-schema.js';

/** True if this key may decide about the call: it has one of the groups that the call asks for, if it asks for any. */
export function mayDecide(
  { approvers }: Pick<ToolConfirmationAction, 'approvers'>,
  groups: readonly string[],
): boolean {
  return approvers === undefined || groups.includes('*') || approvers.some((group) => groups.includes(group));
}

export function Confirmation({ action }: { action: ToolConfirmationAction }) {
  const { approver_groups: groups } = useService().config;
  const { approvers } = action;
  if (approvers !== undefined && !mayDecide(action, groups)) {
    return <p class="note">You cannot answer this: {approvers.join(' or ')} does.</p>;
  }
  return <Decision action={action} />;
}

function Decision({ action }: { action: ToolConfirmationAction }) {
  const { answer } = useDecisions();
  const [reason, setReason] = useState('');
  const [remembers, setRemembers] = useState(false);
  /** Reads the input that the person has changed; null while it is as the agent wrote it. */
  const [readInput, setReadInput] = useState<(() => Record<string, unknown>) | null>(null);
  const { tool_use_id: id } = action;
  const answering = useAction(async (result: 'allow' | 'deny') => {
    const base = { type: 'user.tool_confirmation', tool_use_id: id, result } as const;
    await answer(result === 'deny' ? withReason(base, reason) : allowed(base, readInput, remembers));
  });
  // The second click of a double click may be on another call, which has moved to the place of the first one.
  const click = (event: MouseEvent, result: 'allow' | 'deny'): void => {
    if (isFirstClick(event)) answering.run(result);
  };
  return (
    <form class="answer" aria-label={`Permission for ${action.name}`} onSubmit={(event) => event.preventDefault()}>
      <AboutTool action={action} />
      {readInput !== null && <InputEditor action={action} onChange={(read) => setReadInput(() => read)} />}
      <ErrorNote error={answering.error} />
      <div class="actions">
        <button type="button" class="primary" disabled={answering.busy} onClick={(event) => click(event, 'allow')}>
          Allow
        </button>
        <button type="button" class="danger" disabled={answering.busy} onClick={(event) => click(event, 'deny')}>
          Deny
        </button>
        <input
          class="grow"
          aria-label="Reason, when denied"
          placeholder="Reason, when denied"
          maxLength={1_000}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
        <button
          type="button"
          class="quiet"
          onClick={() => setReadInput(readInput === null ? () => () => action.input : null)}
        >
          {readInput === null ? 'Change the input' : 'Keep the input'}
        </button>
      </div>
      {readInput === null && (
        <Checkbox label="Do not ask for this tool again in this session" checked={remembers} onChange={setRemembers} />
      )}
      <p class="hint">
        {action.approvers !== undefined && `${action.approvers.join(' or ')} decides. `}
        Without an answer the call fails <Time at={action.expires_at} />.
      </p>
    </form>
  );
}

type ToolConfirmation = Extract<Answer, { type: 'user.tool_confirmation' }>;

function withReason(base: ToolConfirmation, reason: string): ToolConfirmation {
  return reason === '' ? base : { ...base, deny_message: reason };
}

function allowed(
  base: ToolConfirmation,
  readInput: (() => Record<string, unknown>) | null,
  remembers: boolean,
): ToolConfirmation {
  if (readInput !== null) return { ...base, input: readInput() };
  return remembers ? { ...base, remember: 'session' } : base;
}

interface EditorProps {
  action: ToolConfirmationAction;
  onChange: (read: () => Record<string, unknown>) => void;
}

/** The input as a form from the tool's schema; as JSON for a tool whose schema is not known here. */
function InputEditor({ action: { name, input }, onChange }: EditorProps) {
  const schema = useToolSchema(name);
  const [values, setValues] = useState<Record<string, FieldValue>>({});
  const [json, setJson] = useState(exactText(input, 2));
  const editable = editableInput(schema, input);
  if (editable === null) {
    const change = (text: string): void => {
      setJson(text);
      onChange(() => objectOf(text));
    };
    return <TextAreaField label="Input" class="code" rows={6} spellcheck={false} value={json} onChange={change} />;
  }
  return (
    <>
      {editable.fields.map(({ form }) => (
        <SchemaField
          key={form.name}
          field={form}
          value={values[form.name] ?? editable.values[form.name]!}
          onChange={(value) => {
            const next = { ...values, [form.name]: value };
            setValues(next);
            onChange(() => changedInput(editable, next, input));
          }}
        />
      ))}
    </>
  );
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value = parseExact(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // The error below says what is expected.
  }
  throw new Error('The input must be a JSON object, such as {"days": 3}.');
}
