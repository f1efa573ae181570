import type { McpServer } from '../../../client/src/index.js';
import { CheckList } from '../parts/check-list.js';
import { offeredTools, type Asking } from './session-tools.js';

interface Props {
  server: McpServer;
  asking: Asking;
  onChange: (asking: Asking) => void;
}

export function ToolPermissions({ server, asking, onChange }: Props) {
  const { all, names } = asking;
  const summary = all ? 'asks before every call' : names.length > 0 ? `asks before ${names.length}` : 'runs all';
  return (
    <details class="permissions">
      <summary>
        Permissions of {server.name} <span class="hint">{summary}</span>
      </summary>
      <fieldset>
        <legend>Ask a person before {server.name} runs</legend>
        <label class="check">
          <input
            type="checkbox"
            checked={all}
            onChange={(event) => onChange({ ...asking, all: event.currentTarget.checked })}
          />
          <span>
            every tool <span class="hint">also those that the server adds later</span>
          </span>
        </label>
        {!all && (
          <CheckList
            options={offeredTools(server).map((name) => ({ value: name, label: name }))}
            selected={names}
            onChange={(selected) => onChange({ ...asking, names: selected })}
          />
        )}
      </fieldset>
    </details>
  );
}
