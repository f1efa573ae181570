import { useState } from 'preact/hooks';
import { CodeBlock } from '../parts/code-block.js';
import { TextAreaField, TextField } from '../parts/fields.js';
import type { PlacedOperation } from './document.js';
import { requestOf } from './try-request.js';

/** In the memory of the page only, for all of its operations: it is gone with the page. */
let rememberedKey = '';

interface Answer {
  label: string;
  text: string;
}

/** Sends a request with the reader's own key. */
export function TryOperation({ entry, example }: { entry: PlacedOperation; example: unknown }) {
  const [key, setKey] = useState(rememberedKey);
  const [values, setValues] = useState<Record<string, string>>({});
  const [body, setBody] = useState(example === undefined ? '' : JSON.stringify(example, null, 2));
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [isSending, setSending] = useState(false);
  // One of several fields, such as `metadata[customer]`, is left to curl.
  const parameters = (entry.operation.parameters ?? []).filter(({ schema }) => schema?.type !== 'object');
  const send = async (): Promise<void> => {
    setSending(true);
    try {
      // The page calls the service that it came from: its policy allows no other.
      const { url, init } = requestOf(entry, { servers: [{ url: location.origin }] }, values, body, key);
      const response = await fetch(url, init);
      const text = await response.text();
      setAnswer({ label: `Answer ${response.status}`, text: pretty(text) });
    } catch (error) {
      setAnswer({ label: 'No answer', text: error instanceof Error ? error.message : String(error) });
    } finally {
      setSending(false);
    }
  };
  return (
    <details class="try">
      <summary>Try it</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <TextField
          label="Key"
          type="password"
          autocomplete="off"
          required
          value={key}
          hint="Stays in the memory of this page, and is gone with it."
          onChange={(text) => {
            rememberedKey = text;
            setKey(text);
          }}
        />
        {parameters.map(({ name, required = false }) => (
          <TextField
            key={name}
            label={name}
            required={required}
            value={values[name] ?? ''}
            onChange={(text) => setValues({ ...values, [name]: text })}
          />
        ))}
        {example !== undefined && <TextAreaField label="Body" rows={8} value={body} onChange={setBody} />}
        <button class="primary" disabled={isSending}>
          Send {entry.method}
        </button>
      </form>
      {answer !== null && <CodeBlock label={answer.label} text={answer.text} />}
    </details>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
