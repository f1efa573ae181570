import type { StreamEvent } from '../types.js';
import { brief, type Screen } from './screen.js';

/** Shows the events of turns: text as it comes, everything else as lines. */
export class TurnScreen {
  /** Messages whose text was shown while it came. */
  readonly #shown = new Set<string>();

  constructor(
    private readonly answer: Screen,
    private readonly notes: Screen,
    private readonly showMessages = true,
  ) {}

  show(event: StreamEvent): void {
    switch (event.type) {
      case 'agent.message.delta':
        this.#shown.add(event.message_id);
        if (this.showMessages) this.answer.write(event.content);
        break;
      case 'agent.message':
        if (!this.showMessages) break;
        if (!this.#shown.has(event.message_id)) this.answer.write(event.content);
        this.answer.endLine();
        break;
      case 'agent.tool_use':
      case 'agent.custom_tool_use':
        this.#line(`→ ${event.name} ${brief(JSON.stringify(event.input))}`);
        break;
      case 'agent.tool_result':
        this.#line(`← ${event.name}${event.is_error ? ' failed' : ''}: ${brief(event.content)}`);
        break;
      case 'agent.file':
        this.#line(`file ${event.file.filename} (${event.file.id})`);
        break;
      case 'agent.mcp_error':
        this.#line(`the MCP server ${event.mcp_server_id} is not there: ${brief(event.message)}`);
        break;
      case 'agent.retry.delta':
        this.#line(`the model is away, and is called again at ${event.retry_at}`);
        break;
      case 'agent.model_changed':
        this.#line(`goes on with the model ${event.to}`);
        break;
      default:
    }
  }

  #line(text: string): void {
    this.answer.endLine();
    this.notes.line(text, 'dim');
  }
}
