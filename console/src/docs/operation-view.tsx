import { Markdown } from '../markdown/markdown.js';
import { CodeBlock } from '../parts/code-block.js';
import { limitsOf, typeOf, type PlacedOperation, type OpenApi } from './document.js';
import { SchemaView } from './schema-view.js';
import { TryOperation } from './try-operation.js';
import { canTry } from './try-request.js';

interface Props {
  entry: PlacedOperation;
  document: OpenApi;
}

export function OperationView({ entry, document }: Props) {
  const { method, path, operation } = entry;
  const { summary, description, parameters = [], requestBody, responses, operationId } = operation;
  const [bodyType, body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const successes = Object.entries(responses).filter(([status]) => Number(status) < 400);
  const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400);
  return (
    <div class="operation">
      <div class="operation-text">
        <h1>{summary}</h1>
        <p class="operation-path">
          <span class={`method ${method.toLowerCase()}`}>{method}</span> <code>{path}</code>
        </p>
        <Markdown text={description} />
        <p class="hint">
          Operation <code>{operationId}</code>
        </p>
        {parameters.length > 0 && (
          <section>
            <h2>Parameters</h2>
            <ul class="schema">
              {parameters.map(({ name, in: place, required, description: text, schema = {} }) => (
                <li key={place + name}>
                  <div class="schema-head">
                    <code class="schema-name">{name}</code>
                    <span class="schema-type">{typeOf(schema, document)}</span>
                    <span class="tag">{place}</span>
                    {required === true && <span class="tag">required</span>}
                    <span class="hint">{limitsOf(schema)}</span>
                  </div>
                  {text !== undefined && <Markdown text={text} />}
                </li>
              ))}
            </ul>
          </section>
        )}
        {body?.schema !== undefined && (
          <section>
            <h2>
              Body <span class="hint">{bodyType}</span>
            </h2>
            <SchemaView schema={body.schema} document={document} />
          </section>
        )}
        {successes.map(([status, { description: text, content }]) => {
          const schema = Object.values(content ?? {})[0]?.schema;
          return (
            <section key={status}>
              <h2>
                Answer {status} <span class="hint">{text}</span>
              </h2>
              {schema !== undefined && <SchemaView schema={schema} document={document} />}
            </section>
          );
        })}
        <section>
          <h2>Errors</h2>
          <ul class="schema">
            {errors.map(([status, { description: text }]) => (
              <li key={status}>
                <div class="schema-head">
                  <code class="schema-name">{status}</code>
                  <span>{text}</span>
                </div>
              </li>
            ))}
          </ul>
        </section>
      </div>
      <aside class="operation-code" aria-label="Examples">
        <CodeBlock label="curl" text={curlOf(method, path, document, body?.example, bodyType)} />
        {canTry(entry) && <TryOperation key={operationId} entry={entry} example={body?.example} />}
        {successes.map(([status, { content }]) => {
          const example = Object.values(content ?? {})[0]?.example;
          if (example === undefined) return null;
          return (
            <CodeBlock
              key={status}
              label={`Answer ${status}`}
              text={typeof example === 'string' ? example : JSON.stringify(example, null, 2)}
            />
          );
        })}
      </aside>
    </div>
  );
}

function curlOf(method: string, path: string, { servers }: OpenApi, example: unknown, type = ''): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${servers?.[0]?.url ?? ''}${path}'`,
    ...(path.startsWith('/v1/') ? ['  -H "Authorization: Bearer $API_KEY"'] : []),
    ...(type.startsWith('multipart/') ? ["  -F 'file=@report.csv'"] : []),
    ...(example === undefined || type.startsWith('multipart/')
      ? []
      : [
          `  -H 'Content-Type: ${type}'`,
          `  -d '${JSON.stringify(example, null, 2).replaceAll("'", String.raw`'\''`)}'`,
        ]),
  ];
  return lines.join(' \\\n');
}
