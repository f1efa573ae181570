import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { isGrpcServiceError, type Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../../workflows/contract.js';
import type { TurnFields } from '../db/entities/turns.js';
import type { Logger } from '../platform/logger.js';
import { CALL_TIMEOUT_MS } from './connection.js';

const NAMES = Object.values(SEARCH_ATTRIBUTES);
/** gRPC codes DEADLINE_EXCEEDED and UNAVAILABLE. */
const AWAY = new Set([4, 14]);
const KEYWORD = proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;

export function searchAttributesOf(
  turn: Pick<TurnFields, 'projectId' | 'sessionId' | 'modelId'>,
): SearchAttributePair[] {
  return [
    pair(SEARCH_ATTRIBUTES.project, turn.projectId),
    pair(SEARCH_ATTRIBUTES.session, turn.sessionId),
    pair(SEARCH_ATTRIBUTES.model, turn.modelId),
  ];
}

export function deliverySearchAttributes(delivery: {
  project_id: string;
  session_id: string | null;
}): SearchAttributePair[] {
  const { project_id: project, session_id: session } = delivery;
  return [
    pair(SEARCH_ATTRIBUTES.project, project),
    ...(session === null ? [] : [pair(SEARCH_ATTRIBUTES.session, session)]),
  ];
}

function pair(name: string, value: string): SearchAttributePair {
  return { key: defineSearchAttributeKey(name, 'KEYWORD'), value };
}

/**
 * Adds the missing search attributes to the namespace: a workflow start with an unknown attribute is refused. Returns
 * `absent` with a warning if listing or adding is not allowed (Temporal Cloud: use tcld or Terraform), and `unknown`
 * while Temporal is away.
 */
export async function ensureSearchAttributes(
  client: Client,
  namespace: string,
  log: Logger,
): Promise<'present' | 'absent' | 'unknown'> {
  try {
    return await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () => addMissing(client, namespace, log));
  } catch (err) {
    if (isGrpcServiceError(err) && AWAY.has(err.code)) return 'unknown';
    log.warn({ err, attributes: NAMES }, 'search attributes cannot be checked or added: turns start without them');
    return 'absent';
  }
}

async function addMissing(client: Client, namespace: string, log: Logger): Promise<'present'> {
  const operator = client.connection.operatorService;
  const { customAttributes } = await operator.listSearchAttributes({ namespace });
  const missing = NAMES.filter((name) => !(name in customAttributes));
  if (missing.length > 0) {
    await operator.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
    log.info({ missing }, 'added the missing search attributes');
  }
  return 'present';
}
