import { useState } from 'preact/hooks';
import type { Elicitation } from '../../../client/src/index.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { contentOf, formFields, type FieldValue } from '../parts/form-fields.js';
import { SchemaField } from '../parts/schema-field.js';
import { Time } from '../parts/time.js';
import { useDecisions } from './decision-context.js';

/** Answers what an MCP server asks: with a form made from its schema, or by opening its address. */
export function ElicitationForm({ question }: { question: Elicitation }) {
  const { answer } = useDecisions();
  const [values, setValues] = useState<Record<string, FieldValue>>({});
  const fields = question.mode === 'form' ? formFields(question.requested_schema) : [];
  const { elicitation_id } = question;
  const answering = useAction(async (action: 'accept' | 'decline' | 'cancel') =>
    answer({
      type: 'user.elicitation_result',
      elicitation_id,
      action,
      ...(action === 'accept' && question.mode === 'form' && { content: contentOf(fields, values) }),
    }),
  );
  return (
    <form
      class="answer"
      aria-label={`Question of ${question.name}`}
      onSubmit={(event) => (event.preventDefault(), answering.run('accept'))}
    >
      <p>{question.message}</p>
      {fields.map((field) => (
        <SchemaField
          key={field.name}
          field={field}
          value={values[field.name] ?? field.initial}
          onChange={(value) => setValues((all) => ({ ...all, [field.name]: value }))}
        />
      ))}
      {question.mode === 'url' && (
        <p>
          <a href={question.url} target="_blank" rel="noopener noreferrer">
            {question.url}
          </a>
        </p>
      )}
      <ErrorNote error={answering.error} />
      <div class="actions">
        <button class="primary" disabled={answering.busy}>
          {question.mode === 'form' ? 'Send' : 'I have opened it'}
        </button>
        <button type="button" class="danger" disabled={answering.busy} onClick={() => answering.run('decline')}>
          Decline
        </button>
        <button type="button" disabled={answering.busy} onClick={() => answering.run('cancel')}>
          Cancel
        </button>
      </div>
      <p class="hint">
        The MCP server of this tool asks this. Without an answer it gets “cancel” <Time at={question.expires_at} />.
      </p>
    </form>
  );
}
