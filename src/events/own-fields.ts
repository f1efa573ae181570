import { described, objectSchema, orNull } from '../platform/object-schema.js';
import { anyObject, count, flag, idField, text, timestamp } from '../platform/schema-fields.js';
import { FALLBACK_REASONS, file, money, output, skill, spent, stopReason, turnError } from './fields.js';
import { requiredAction } from './required-action.js';

const actor = { type: ['string', 'null'], description: 'Who decided, as the answer says; null without one.' } as const;
const toolUseId = described(text, 'Id of the call: the same in its result, its answers and its progress.');
const toolName = described(text, 'The name of the tool, as the model sees it.');
export const messageId = idField('message', 'Id of the message: the same in the deltas of the stream.');
const input = described(anyObject, 'The input of the call, as the model wrote it.');
export const confirmationResult = {
  $id: 'ConfirmationResult',
  type: 'string',
  enum: ['allow', 'deny'],
  description: '`allow`: the call runs. `deny`: it does not, and the agent goes on without it.',
} as const;
const changedInput = { ...anyObject, description: 'An input that a person has changed.' } as const;
export const remember = {
  $id: 'RememberApproval',
  type: ['string', 'null'],
  enum: ['session', null],
  description:
    'For how long an approval holds. `session`: also for later calls of the tool in this session, as long as the tool stays as it is. Null: for this call.',
} as const;
export const elicitationAnswer = {
  $id: 'ElicitationAnswer',
  type: 'string',
  enum: ['accept', 'decline', 'cancel'],
  description:
    '`accept`: the person answered the form, or opened the address. `decline`: the person refused. `cancel`: the person made no choice.',
} as const;
export const elicitationContent = {
  $id: 'ElicitationContent',
  description: 'The values of a form, by their names in its schema.',
  ...anyObject,
} as const;

/**
 * The fields of every stored event type (decisions.md "Turns and events"). This is the only definition: the TypeScript
 * types and the OpenAPI document are derived from it.
 */
const paths = { type: 'array', items: text, description: 'Absolute paths, in order; at most 20.' } as const;
const memoryResult = {
  $id: 'MemoryResult',
  description: 'The version of a memory that a command has made. Absent if it changed nothing.',
  ...objectSchema({
    memory_id: idField('memory', 'Id of the memory.'),
    version: described(count, 'The number of the version.'),
  }),
} as const;
const workspaceResult = {
  $id: 'WorkspaceResult',
  description: 'What a call of `bash`, `read`, `write` or `edit` did to the workspace. Absent if the call did not run.',
  ...objectSchema({
    version: described(count, 'The version of the workspace after the call.'),
    exit_code: {
      type: ['integer', 'null'],
      format: 'int32',
      description:
        'The exit code of `bash`, 128 + n if signal n ended it; null if it was stopped, and of the other tools.',
    },
    stopped: {
      $id: 'WorkspaceStopped',
      type: ['string', 'null'],
      enum: ['timeout', 'memory', 'disk', null],
      description: 'The limit at which the command was stopped; null if it ended.',
    },
    duration_ms: described(count, 'How long it ran, in milliseconds.'),
    changes: {
      $id: 'WorkspaceChanges',
      description: 'The paths that differ from the version before.',
      ...objectSchema({
        created: paths,
        modified: paths,
        deleted: paths,
        more: described(count, 'How many paths are left out.'),
      }),
    },
  }),
} as const;

const delegation = {
  $id: 'Delegation',
  description: 'How the turn ended that a call of another agent had begun. Absent if none began.',
  ...objectSchema({
    session_id: idField('session', 'Id of the child session.'),
    turn_id: idField('turn', 'Id of its turn.'),
    status: {
      $id: 'DelegationStatus',
      type: 'string',
      enum: ['completed', 'cancelled', 'failed'],
      description: 'How the turn ended.',
    },
    stop_reason: orNull(stopReason, 'Why it completed; null otherwise.'),
    cost: orNull(money, 'What its model calls cost; null if one of their models has no price.'),
  }),
} as const;

export const ownFields = {
  'user.message': objectSchema(
    {
      content: described(text, 'The text of the message.'),
      files: { type: 'array', items: file, description: 'The attached files.' },
      skills: { type: 'array', items: skill, description: 'The skills that the message selects.' },
    },
    {
      schedule_id: idField('schedule', 'Only in a message that a schedule sent.'),
      model_id: described(text, 'The model of this message’s turn, if the message names one.'),
      thinking_enabled: described(flag, 'Thinking in this message’s turn, if the message sets it.'),
      output_schema: described(anyObject, 'The JSON Schema of the turn’s output, if the message has one.'),
      delivered_at_step: {
        ...count,
        minimum: 1,
        description: 'Number of the model call in the open turn that first got the message.',
      },
    },
  ),
  'turn.continued': objectSchema({ continues_turn_id: idField('turn', 'Id of the turn that this one continues.') }),
  'agent.thinking': objectSchema({ message_id: messageId, content: described(text, 'The model’s thinking.') }),
  'agent.message': objectSchema(
    { message_id: messageId, content: described(text, 'The text of the message.') },
    { incomplete: { const: true, description: 'Present if the model’s answer was cut off.' } },
  ),
  'user.tool_confirmation': objectSchema(
    {
      tool_use_id: toolUseId,
      result: confirmationResult,
      deny_message: { type: ['string', 'null'], description: 'The message for the agent; null without one.' },
      actor,
    },
    // Absent in what was stored before 1.0.0.
    {
      input: orNull(changedInput, 'What the call runs with, if a person has changed the input; null otherwise.'),
      remember,
    },
  ),
  'user.custom_tool_result': objectSchema({
    tool_use_id: toolUseId,
    content: described(text, 'The result, as the model gets it.'),
    is_error: described(flag, 'True if the tool failed.'),
    actor,
  }),
  'user.elicitation_result': objectSchema({
    elicitation_id: idField('elicitation', 'Id of the question.'),
    action: elicitationAnswer,
    content: orNull(elicitationContent, 'The values of the form; null without them.'),
    actor,
  }),
  'agent.tool_use': objectSchema(
    { tool_use_id: toolUseId, name: toolName, input },
    {
      evaluated_permission: {
        $id: 'EvaluatedPermission',
        type: 'string',
        enum: ['allow', 'ask', 'remembered'],
        description:
          '`ask`: a person must allow the call. `remembered`: a person has allowed the tool for the session, so nobody is asked. Only in sessions that have `tools`, and for calls that the MCP server’s `required_approvals` ask for.',
      },
    },
  ),
  'agent.custom_tool_use': objectSchema({ tool_use_id: toolUseId, name: toolName, input }),
  'agent.requires_action': objectSchema({
    required_actions: { type: 'array', items: requiredAction, description: 'Everything that the turn waits for now.' },
  }),
  'agent.wait': objectSchema({
    tool_use_id: toolUseId,
    until: described(timestamp, 'When the agent goes on, unless a person ends the wait early.'),
  }),
  'agent.delegated': objectSchema({
    tool_use_id: toolUseId,
    agent_id: idField('agent', 'Id of the agent that was called.'),
    agent_version: described(count, 'The version of the agent that works on the call.'),
    child_session_id: idField('session', 'Id of the session in which it works.'),
    child_turn_id: idField('turn', 'Id of its turn.'),
  }),
  'agent.tool_progress': objectSchema({
    tool_use_id: toolUseId,
    name: toolName,
    status: {
      $id: 'ToolProgressStatus',
      type: 'string',
      enum: ['working', 'input_required'],
      description: 'The state of the task, as the MCP server reports it.',
    },
    message: { type: ['string', 'null'], description: 'What the MCP server says about it; null without a message.' },
  }),
  'agent.tool_result': objectSchema(
    {
      tool_use_id: toolUseId,
      name: toolName,
      is_error: described(flag, 'True if the call failed, was denied, or was not made.'),
      content: described(text, 'The result, as the model gets it.'),
    },
    {
      truncated: { const: true, description: 'Present if the result was too long and is cut.' },
      input: described(anyObject, 'Present if a person has changed the input of the call: what it ran with.'),
      workspace: workspaceResult,
      delegation,
      memory: memoryResult,
    },
  ),
  'agent.file': objectSchema({ file: described(file, 'The delivered file. Download it with its id.') }),
  'agent.mcp_error': objectSchema({
    mcp_server_id: idField('mcpServer', 'Id of the MCP server.'),
    name: described(text, 'Name of the MCP server.'),
    message: described(text, 'What went wrong.'),
  }),
  'agent.context_compacted': objectSchema({
    compacted_turns: described(count, 'Number of turns that the summary replaces.'),
  }),
  'agent.model_changed': objectSchema({
    from: described(text, 'Id of the model that failed.'),
    to: described(text, 'Id of the model that the turn goes on with.'),
    reason: {
      $id: 'FallbackReason',
      type: 'string',
      enum: FALLBACK_REASONS,
      description: 'Why the first model failed.',
    },
  }),
  'turn.completed': objectSchema({ stop_reason: stopReason, ...spent }, { output }),
  'turn.cancelled': objectSchema(spent),
  'turn.failed': objectSchema({ error: turnError, ...spent }),
} as const;

/** What the OpenAPI document says about each type. */
export const EVENT_DESCRIPTIONS: Record<keyof typeof ownFields, string> = {
  'user.message': 'A message to the agent. It begins a turn, or reaches the open one.',
  'turn.continued': 'The first event of a turn that continues another one.',
  'agent.thinking': 'The model’s thinking in one model call, if the session has it on.',
  'agent.message': 'A whole message of the agent.',
  'user.tool_confirmation': 'A person allowed or denied a call.',
  'user.custom_tool_result': 'Your client’s result of a custom tool’s call.',
  'user.elicitation_result': 'The answer to a question of an MCP server.',
  'agent.tool_use': 'The agent calls a tool.',
  'agent.custom_tool_use': 'The agent calls a custom tool, which your client runs.',
  'agent.requires_action': 'The turn waits for answers.',
  'agent.wait': 'The agent waits until a time. It goes on by itself; `user.tool_confirmation` ends the wait early.',
  'agent.delegated': 'A call of another agent has begun a turn in a child session. The call ends with it.',
  'agent.tool_progress': 'The progress of a call that is a long task.',
  'agent.tool_result': 'The result of a call.',
  'agent.file': 'The agent delivered a file.',
  'agent.mcp_error': 'An MCP server could not be used in this turn.',
  'agent.context_compacted': 'Older turns were summarised to fit the model’s context.',
  'agent.model_changed': 'The turn goes on with a fallback model.',
  'turn.completed': 'The last event of a turn that completed.',
  'turn.cancelled': 'The last event of a turn that was cancelled.',
  'turn.failed': 'The last event of a turn that failed.',
};
