import type { ApiKey } from '../../../client/src/index.js';
import { Status } from '../parts/status.js';

export function KeyStatus({ apiKey: { revoked_at: revoked, expires_at: expires } }: { apiKey: ApiKey }) {
  if (revoked !== null) return <Status look="cancelled">Revoked</Status>;
  if (expires !== null && Date.parse(expires) <= Date.now()) return <Status look="idle">Expired</Status>;
  return <Status look="complete">Can be used</Status>;
}
