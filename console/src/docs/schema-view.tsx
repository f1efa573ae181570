import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Markdown } from '../markdown/markdown.js';
import { inner, limitsOf, resolve, typeOf, type OpenApi, type Schema } from './document.js';

interface Props {
  schema: Schema;
  document: OpenApi;
}

/** The fields of an object; those of a field are made when somebody opens it, because schemas can contain themselves. */
export function SchemaView({ schema, document }: Props) {
  const found = inner(schema, document);
  if (found === null) return <p class="hint">{typeOf(schema, document)}</p>;
  const choices = found.oneOf ?? found.anyOf;
  if (choices !== undefined) {
    return (
      <ul class="schema">
        {choices.map((choice, index) => (
          <li key={index}>
            <Opened label={typeOf(choice, document)} text={resolve(choice, document).description}>
              {() => <SchemaView schema={choice} document={document} />}
            </Opened>
          </li>
        ))}
      </ul>
    );
  }
  return (
    <ul class="schema">
      {Object.entries(found.properties ?? {}).map(([name, field]) => (
        <Field
          key={name}
          name={name}
          field={field}
          document={document}
          isRequired={found.required?.includes(name) === true}
        />
      ))}
    </ul>
  );
}

interface FieldProps {
  name: string;
  field: Schema;
  document: OpenApi;
  isRequired: boolean;
}

function Field({ name, field, document, isRequired }: FieldProps) {
  const found = resolve(field, document);
  const limits = limitsOf(found);
  const fields = inner(field, document);
  return (
    <li>
      <div class="schema-head">
        <code class="schema-name">{name}</code>
        <span class="schema-type">{typeOf(field, document)}</span>
        {isRequired && <span class="tag">required</span>}
        {limits !== '' && <span class="hint">{limits}</span>}
      </div>
      {found.description !== undefined && <Markdown text={found.description} />}
      {fields !== null && <Opened label="Fields">{() => <SchemaView schema={field} document={document} />}</Opened>}
    </li>
  );
}

function Opened({ label, text, children }: { label: string; text?: string; children: () => JSX.Element }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label} {text !== undefined && <span class="hint">{text}</span>}
      </summary>
      {isOpen && children()}
    </details>
  );
}
