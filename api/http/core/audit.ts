import type { Tx } from '../../../src/db/db.js';
import { writeEntry, type AuditEntry, type AuditResource } from '../../../src/audit/write.js';
import type { AuditSender } from '../../../src/db/entities/audit-sender.js';
import type { Call, Caller, Route } from './operation.js';

/** What an operation leaves in the audit log. Null in `api/routes.ts`: nothing. */
export interface Recorded {
  /** The type of what a POST makes, whose id its response has. Without it the entry is about the last `…_id` of the path. */
  readonly makes?: string;
  /** Only requests with one of these fields in the body, null and empty arrays aside, leave an entry. */
  readonly onlyWith?: readonly string[];
  /** `details` of an entry: fields of the response. Those of a PATCH have the names of the body's fields in any case. */
  readonly details?: readonly string[];
  /** The operation writes its entries with `enter`: none, one or several. */
  readonly byItself?: true;
}

/** Each success leaves an entry about the last `…_id` of the path. */
export const RECORDED: Recorded = {};
/** The operation writes its entries itself, with `enter`. */
export const BY_ITSELF: Recorded = { byItself: true };

/** Each success leaves an entry about what the operation made: a resource of this type. */
export function makes(type: string, details: readonly string[] = []): Recorded {
  return { makes: type, details };
}

/** Each success of a request whose body has one of these fields leaves an entry. */
export function onlyWith(...fields: string[]): Recorded {
  return { onlyWith: fields };
}

/** What an operation that is recorded may say of an entry that it writes itself. */
type OwnFields = Partial<Pick<AuditEntry, 'actor' | 'details'>>;

type Audited = Pick<Call, 'caller' | 'params' | 'requestId' | 'body'>;

/** The entries of one request. */
export class AuditTrail {
  #tx: Tx | null = null;
  #written = 0;

  constructor(
    private readonly route: Route,
    private readonly request: Audited,
  ) {}

  /** How many entries the last transaction has. */
  get written(): number {
    return this.#written;
  }

  /** True if the request, which has succeeded, has to have left an entry. */
  get isDue(): boolean {
    const rule = this.route[6];
    return rule !== null && rule.byItself !== true && this.#applies(rule);
  }

  /** Writes the entry of the request, if it leaves one, in the transaction of its change. */
  record(tx: Tx, response: unknown): void {
    const rule = this.route[6];
    if (rule === null || rule.byItself === true || !this.#applies(rule)) return;
    this.#write(tx, { resource: resourceOf(rule, this.request, response), details: this.#detailsOf(rule, response) });
  }

  /** Writes an entry of the operation's own. */
  enter(tx: Tx, fields: OwnFields): void {
    this.#write(tx, fields);
  }

  #write(tx: Tx, fields: Partial<AuditEntry>): void {
    // A transaction that was rolled back runs again.
    if (tx !== this.#tx) this.#written = 0;
    this.#tx = tx;
    this.#written += 1;
    writeEntry(tx, { ...entryOf(this.route, this.request), ...fields });
  }

  #applies({ onlyWith: fields }: Recorded): boolean {
    const body = (this.request.body ?? {}) as Record<string, unknown>;
    return fields === undefined || fields.some((field) => field in body && !isEmptyArray(body[field]));
  }

  #detailsOf({ details = [] }: Recorded, response: unknown): object {
    const shown = (response ?? {}) as Record<string, unknown>;
    const body = (this.request.body ?? {}) as Record<string, unknown>;
    const isPatch = this.route[0] === 'PATCH';
    const named = details.filter((field) => !isPatch || field in body);
    return {
      ...(isPatch && { fields: Object.keys(body) }),
      ...Object.fromEntries(named.map((field) => [field, shown[field]])),
    };
  }
}

/** The entry of a request, without what only its success knows. */
export function entryOf(route: Route, { caller, params, requestId }: Omit<Audited, 'body'>): AuditEntry {
  return {
    ...senderOf(caller),
    projectId: caller.projectId,
    action: route[4].id,
    resource: resourceOfPath(params),
    sessionId: ID.test(params.session_id ?? '') ? params.session_id! : null,
    details: {},
    requestId,
  };
}

/** Who sends a request, as the log has it. */
export function senderOf({ token, keyId, actor }: Pick<Caller, 'token' | 'keyId' | 'actor'>): AuditSender {
  return { source: token === null ? 'key' : 'token', keyId, actor };
}

function resourceOf({ makes: type }: Recorded, { params }: Audited, response: unknown): AuditResource | null {
  return type === undefined ? resourceOfPath(params) : { type, id: (response as { id: string }).id };
}

/** A request that is refused may have any text in place of an id. */
const ID = /^[a-z]+_\w{1,100}$/;

/** The last id in the path; null without one. The router gives the parameters in their order. */
function resourceOfPath(params: Record<string, string>): AuditResource | null {
  const [name, id] = Object.entries(params).findLast(([each]) => each.endsWith('_id')) ?? [];
  return name === undefined || id === undefined || !ID.test(id) ? null : { type: name.slice(0, -'_id'.length), id };
}

function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
