import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../../workflows/contract.js';
import type { Logger } from '../log.js';

const NAMES = Object.values(SEARCH_ATTRIBUTES);
const KEYWORD = temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;

/** The pairs that make a turn findable by project, session and model. */
export function searchAttributesOf(turn: { project_id: string; session_id: string; model_id: string }): SearchAttributePair[] {
  const pair = (name: string, value: string): SearchAttributePair => ({ key: defineSearchAttributeKey(name, 'KEYWORD'), value });
  return [
    pair(SEARCH_ATTRIBUTES.project, turn.project_id),
    pair(SEARCH_ATTRIBUTES.session, turn.session_id),
    pair(SEARCH_ATTRIBUTES.model, turn.model_id),
  ];
}

/**
 * Adds the search attributes that the namespace lacks: a start that names an unknown one is refused. Returns whether
 * turns may carry them; false with a warning where adding is not allowed (Temporal Cloud: tcld or Terraform).
 */
export async function ensureSearchAttributes(client: Client, namespace: string, log: Logger): Promise<boolean> {
  const operator = client.connection.operatorService;
  try {
    const { customAttributes } = await operator.listSearchAttributes({ namespace });
    const missing = NAMES.filter((name) => !(name in customAttributes));
    if (missing.length > 0) {
      await operator.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])) });
      log.info({ missing }, 'added the missing search attributes');
    }
    return true;
  } catch (err) {
    log.warn({ err, attributes: NAMES }, 'search attributes cannot be checked or added: turns start without them');
    return false;
  }
}
