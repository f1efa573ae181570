import { money } from '../../src/events/fields.js';
import { requiredAction } from '../../src/events/required-action.js';
import { described, objectSchema, orNull } from '../../src/platform/object-schema.js';
import { versionNumber } from '../../src/agents/fields.js';
import { overridesSchema } from '../../src/agents/reference.js';
import { count, flag, idField, idOrNull, text, timestamp, timestampOrNull } from '../../src/platform/schema-fields.js';
import { shownBudgetSchema } from '../../src/sessions/budget.js';
import { isOpen } from '../../src/db/turn-states.js';
import { JsonText } from '../../src/platform/json-text.js';
import type { Session } from '../../src/sessions/store.js';
import { sessionToolsSchema } from '../../src/sessions/tool-fields.js';
import type { Caller } from '../http/core/operation.js';
import { presented } from '../http/core/presenter.js';

export const statusSchema = {
  $id: 'SessionStatus',
  type: 'string',
  enum: ['IDLE', 'RUNNING', 'COMPLETE', 'CANCELLED', 'FAILED'],
  description:
    'Follows the latest turn. `IDLE`: there is none. `RUNNING`: it is queued, runs or waits for answers. The others: how it ended.',
} as const;

const queue = {
  $id: 'SessionQueue',
  description: 'The waiting messages of a session.',
  ...objectSchema({
    length: described(count, 'Number of waiting messages.'),
    state: {
      $id: 'QueueState',
      type: 'string',
      enum: ['open', 'held'],
      description:
        '`open`: the first one starts when the open turn completes. `held`: none starts automatically, because the last turn did not complete.',
    },
  }),
} as const;

const sessionAgent = {
  $id: 'SessionAgent',
  description: 'The agent of a session.',
  ...objectSchema({
    id: idField('agent', 'Id of the agent.'),
    version: described(versionNumber, 'The version that the next turn begins with.'),
    follows: described(flag, 'Each turn begins with the version that is live then; false once the agent is deleted.'),
    overrides: described(overridesSchema, 'What the session has instead of these fields of the agent; empty without.'),
  }),
} as const;

export const sessionExample = {
  id: 'ses_01kag8y7m3w9s1p4x2c5v6b7n8',
  status: 'COMPLETE',
  agent: null,
  model_id: 'claude-sonnet-5-5',
  thinking_enabled: true,
  instruction: 'Answer in one sentence.',
  mcp_servers: [],
  metadata: { customer: '4711' },
  preview: 'Which orders are late?',
  tools: [],
  required_actions: [],
  waiting_since: null,
  remembered_approvals: [],
  queue: { length: 0, state: 'open' },
  fallback_model_ids: ['claude-haiku-4-5'],
  user: null,
  budget: { max_cost: { amount: '5', currency: 'USD' }, on_reached: 'stop' },
  cost: { amount: '0.012345', currency: 'USD' },
  workspace: null,
  continuable: false,
  turn_count: 1,
  last_turn_id: 'turn_01kag8z0d4k7q2r9t5y8h3j6m1',
  parent_session_id: null,
  forked_from: null,
  created_at: '2026-11-21T09:48:03.123456Z',
  updated_at: '2026-11-21T09:48:09.654321Z',
};

const forkedWorkspace = {
  $id: 'ForkedWorkspace',
  type: 'string',
  enum: ['exact', 'later'],
  description: 'How the workspace of a fork began.',
} as const;

const forkedFrom = {
  $id: 'ForkOrigin',
  description: 'Where a fork comes from. The session and the turn may be deleted since.',
  ...objectSchema({
    session_id: idField('session', 'Id of the session that was forked.'),
    turn_id: idOrNull('turn', 'Id, in that session, of the last turn that was copied; null if none was.'),
    workspace: orNull(
      forkedWorkspace,
      'Whether its workspace began as the version that stood at the end of that turn, or as the oldest later one that was kept; null without a workspace.',
    ),
  }),
} as const;

const rememberedApproval = {
  $id: 'RememberedApproval',
  description: 'A tool whose calls a person has allowed for the session. PATCH `forget_approvals` takes it back.',
  ...objectSchema({
    name: described(text, 'The name of the tool, as the model saw it.'),
    tool_use_id: described(text, 'Id of the call with which it was remembered. Send it in `forget_approvals`.'),
    actor: { type: ['string', 'null'], description: 'Who decided; null without one.' },
    created_at: described(timestamp, 'When it was remembered.'),
  }),
} as const;

const workspace = {
  $id: 'SessionWorkspace',
  description: 'The stored files of a session’s workspace.',
  ...objectSchema({
    version: described(count, 'How many stored calls have changed the tree.'),
    size_bytes: described(count, 'Bytes of its files.'),
    file_count: described(count, 'Number of its files.'),
    updated_at: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'When the tree last changed; null before.',
    },
  }),
} as const;

const session = presented(
  'Session',
  'A conversation with the agent.',
  {
    id: idField('session', 'Id of the session.'),
    status: statusSchema,
    agent: orNull(sessionAgent, 'The agent whose configuration it has; null for one of its own.'),
    model_id: described(text, 'The model of its turns. These fields show the configuration of the next turn.'),
    thinking_enabled: described(flag, 'Whether the model thinks before it answers.'),
    instruction: { type: ['string', 'null'], description: 'What the agent is for and how it should work.' },
    mcp_servers: { type: 'array', items: text, description: 'Ids of the MCP servers whose tools the agent can call.' },
    metadata: { type: 'object', additionalProperties: text, description: 'Your own pairs of texts.' },
    preview: {
      type: ['string', 'null'],
      description: 'The first 120 characters of the first message; null without one.',
    },
    tools: sessionToolsSchema,
    required_actions: { type: 'array', items: requiredAction, description: 'What the open turn waits for.' },
    waiting_since: described(
      timestampOrNull,
      'When the oldest of `required_actions` was asked; null while the session waits for nothing.',
    ),
    remembered_approvals: {
      type: 'array',
      items: rememberedApproval,
      description: 'The tools whose calls a person has allowed for the session, oldest first.',
    },
    queue,
    fallback_model_ids: {
      type: 'array',
      items: text,
      description: 'The models that a turn goes on with when its model fails, in order.',
    },
    budget: shownBudgetSchema,
    user: { type: ['string', 'null'], description: 'The person for whom the agent acts; null: nobody.' },
    cost: orNull(money, 'What the model calls of its turns cost so far; null if one of their models has no price.'),
    workspace: orNull(
      workspace,
      'The newest version of its workspace; null without an entry of type `workspace` in `tools`.',
    ),
    continuable: described(flag, 'True if POST continue can continue the last turn.'),
    turn_count: described(count, 'How many turns it has; a fork begins with those that were copied.'),
    last_turn_id: idOrNull('turn', 'Id of the latest turn; null without one.'),
    parent_session_id: idOrNull(
      'session',
      'The session whose agent has called the agent of this one; null for sessions of clients.',
    ),
    forked_from: orNull(forkedFrom, 'The session that this one is a fork of; null for the others.'),
    created_at: described(timestamp, 'When it was created.'),
    updated_at: described(
      timestamp,
      'When its metadata, budget, agent or remembered approvals were last changed by PATCH, or its latest turn changed its state.',
    ),
  },
  sessionExample,
);
export const { schema: sessionSchema } = session;

/** The status of a session is derived from its latest turn (docs/interface.md). */
const STATUS_OF_TURN = {
  queued: 'RUNNING',
  running: 'RUNNING',
  completed: 'COMPLETE',
  cancelled: 'CANCELLED',
  failed: 'FAILED',
} as const;

export function presentSession(row: Session): Record<string, unknown> {
  const { began = null, ...workspace } = row.workspace ?? {};
  return session.present({
    ...row,
    workspace: row.workspace && workspace,
    user: row.end_user,
    status: row.turn_state === null ? 'IDLE' : STATUS_OF_TURN[row.turn_state],
    tools: new JsonText(row.tools),
    required_actions: new JsonText(row.required_actions),
    remembered_approvals: new JsonText(row.remembered_approvals),
    forked_from:
      row.forked_from_session_id === null
        ? null
        : {
            session_id: row.forked_from_session_id,
            turn_id: row.forked_from_turn_id,
            workspace: began,
          },
    queue: { length: row.waiting, state: isHeld(row) ? 'held' : 'open' },
  });
}

/** For operations that session tokens may use: a page does not see how the session is configured (docs/decisions.md "Session tokens"). */
export function presentSessionTo({ token }: Pick<Caller, 'token'>, row: Session): Record<string, unknown> {
  if (token === null) return presentSession(row);
  return presentSession({ ...row, ...HIDDEN_FROM_TOKENS, tools: customToolsOf(row.tools) });
}

const HIDDEN_FROM_TOKENS = { agent: null, instruction: null, metadata: {}, mcp_servers: [] };

/** As `presentSessionTo`, for a session as an answer showed it to a key. */
export function hideFromToken(shown: Record<string, unknown>): Record<string, unknown> {
  return { ...shown, ...HIDDEN_FROM_TOKENS, tools: (shown.tools as { type: string }[]).filter(isCustom) };
}

/** The entries that the page runs itself. */
function customToolsOf(tools: string): string {
  return JSON.stringify((JSON.parse(tools) as { type: string }[]).filter(isCustom));
}

function isCustom({ type }: { type: string }): boolean {
  return type === 'custom';
}

/** A turn that completes starts the first message that waits: without an open turn, what waits is held. */
function isHeld({ waiting, turn_state }: Session): boolean {
  return waiting > 0 && (turn_state === null || !isOpen(turn_state));
}
