import type { ModelRequest } from './wire.js';
import { checkConversation } from './conversation.js';
import { isObject, onlyFields, refuse, TOOL_NAME } from './refusal.js';
import type { Fields, Issued, Thinks } from './refusal.js';

const REQUEST_FIELDS = new Set(
  (
    'model messages max_tokens system tools tool_choice thinking stream temperature top_k top_p stop_sequences ' +
    'metadata cache_control container context_management diagnostics inference_geo mcp_servers output_config ' +
    'service_tier speed'
  ).split(' '),
);
const MAX_BREAKPOINTS = 4;
const PROPERTY_KEY = /^[a-zA-Z0-9_.-]{1,64}$/;

/**
 * Throws the 400 of the real API, in its words, when it would refuse this body; else returns it. `counting`: the
 * body is one of count_tokens, which has no `max_tokens`.
 */
export function validate(body: unknown, issued: Issued, counting = false): ModelRequest {
  if (!isObject(body)) refuse('Input should be a valid dictionary');
  onlyFields(body, REQUEST_FIELDS, '');
  if (typeof body.model !== 'string' || body.model === '') refuse('model: Field required');
  if (!counting) checkMaxTokens(body.max_tokens);
  checkSystem(body.system);
  checkTools(body.tools);
  const thinks = checkThinking(body);
  checkConversation(body.messages, thinks, issued);
  checkBreakpoints(body);
  return body as unknown as ModelRequest;
}

function checkMaxTokens(value: unknown): void {
  if (value === undefined) refuse('max_tokens: Field required');
  if (!Number.isInteger(value)) refuse('max_tokens: Input should be a valid integer');
  if ((value as number) < 1) refuse('max_tokens: Input should be greater than or equal to 1');
}

function checkSystem(system: unknown): void {
  if (system === undefined || typeof system === 'string') return;
  if (!Array.isArray(system)) refuse('system: Input should be a valid string or list');
  system.forEach((block: unknown, at) => {
    if (!isObject(block) || block.type !== 'text') refuse(`system.${at}.type: Input should be 'text'`);
    if (typeof block.text !== 'string') refuse(`system.${at}.text: Field required`);
    if (block.text === '') refuse('system: text content blocks must be non-empty');
  });
}

function checkTools(tools: unknown): void {
  if (tools === undefined) return;
  if (!Array.isArray(tools)) refuse('tools: Input should be a valid list');
  const names = new Set<unknown>();
  tools.forEach((tool: unknown, at) => {
    if (!isObject(tool)) refuse(`tools.${at}: Input should be a valid dictionary`);
    if (tool.type !== undefined && tool.type !== null && tool.type !== 'custom') return;
    const path = `tools.${at}.custom`;
    if (typeof tool.name !== 'string') refuse(`${path}.name: Field required`);
    if (!TOOL_NAME.test(tool.name)) refuse(`${path}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    if (names.has(tool.name)) refuse('tools: Tool names must be unique.');
    names.add(tool.name);
    if (!isObject(tool.input_schema)) refuse(`${path}.input_schema: Field required`);
    if (tool.input_schema.type !== 'object') refuse(`${path}.input_schema.type: Input should be 'object'`);
    const { properties } = tool.input_schema;
    if (isObject(properties) && !Object.keys(properties).every((key) => PROPERTY_KEY.test(key))) {
      refuse(`${path}.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`);
    }
  });
}

function checkThinking({ thinking, max_tokens: max, tool_choice: choice }: Fields): Thinks {
  if (thinking === undefined) return 'no';
  if (!isObject(thinking)) refuse('thinking: Input should be a valid dictionary');
  if (thinking.type === 'disabled' || thinking.type === 'between_tools') return 'no';
  if (thinking.type !== 'adaptive' && thinking.type !== 'enabled') {
    refuse(
      "thinking: Input tag found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'",
    );
  }
  if (isObject(choice) && (choice.type === 'any' || choice.type === 'tool')) {
    refuse('Thinking may not be enabled when tool_choice forces tool use.');
  }
  if (thinking.type === 'adaptive') return 'adaptive';
  const budget = thinking.budget_tokens;
  if (!Number.isInteger(budget)) refuse('thinking.enabled.budget_tokens: Field required');
  if ((budget as number) < 1024) {
    refuse('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
  }
  if (typeof max === 'number' && max <= (budget as number)) {
    refuse('`max_tokens` must be greater than `thinking.budget_tokens`.');
  }
  return 'manual';
}

function checkBreakpoints(body: Fields): void {
  const { system = [], tools = [] } = body;
  const messages = (body.messages as { content: unknown }[]).flatMap(({ content }) => listOf(content));
  const marks = [body, ...listOf(tools), ...listOf(system), ...messages, ...messages.flatMap(nested)]
    .map((block) => block.cache_control)
    .filter((mark) => mark !== undefined && mark !== null);
  if (marks.length > MAX_BREAKPOINTS) {
    refuse(`A maximum of ${MAX_BREAKPOINTS} blocks with cache_control may be provided. Found ${marks.length}.`);
  }
  for (const mark of marks) {
    if (!isObject(mark) || mark.type !== 'ephemeral') refuse("cache_control: Input should be 'ephemeral'");
    if (mark.ttl !== undefined && mark.ttl !== '5m' && mark.ttl !== '1h') {
      refuse("cache_control.ephemeral.ttl: Input should be '5m' or '1h'");
    }
  }
}

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? (value as Fields[]) : []);

const nested = (block: Fields): Fields[] => (block.type === 'tool_result' ? listOf(block.content) : []);
