import { USABLE_CREDENTIAL } from '../../db/usable-credential.js';
import { validationError } from '../../platform/errors.js';
import { CALL_FIELDS, errorResult, EXPIRES_AT, reasonOf, type WaitKind } from './wait-kind.js';

export interface MissingLogin {
  mcp_server_id: string;
  end_user: string;
}

/** A call that waits until the session's user has authorized its server (decisions.md "User credentials"). */
export const login: WaitKind<MissingLogin, 'user.tool_confirmation'> = {
  type: 'mcp_authorization',
  action: `json_build_object(${CALL_FIELDS}, 'mcp_server_id', w.ask->'mcp_server_id', ${EXPIRES_AT})`,
  answers: {
    'user.tool_confirmation'(_, { result }, path) {
      if (result === 'allow')
        throw validationError(`${path}/result`, 'must be deny: this call waits until its server is authorized');
      return 'denied';
    },
  },
  settled: {
    // The user has a usable credential, or the server is gone, which the call then says.
    when: `EXISTS (
        SELECT FROM user_credentials c LEFT JOIN mcp_oauth o USING (id)
        WHERE c.mcp_server_id = w.ask->>'mcp_server_id' AND c.end_user = w.ask->>'end_user' AND ${USABLE_CREDENTIAL})
      OR NOT EXISTS (SELECT FROM mcp_servers s WHERE s.id = w.ask->>'mcp_server_id' AND s.deleted_at IS NULL)`,
    outcome: 'authorized',
  },
  resultOf(outcome, answer) {
    if (outcome === 'authorized') return null;
    if (outcome !== 'denied') return errorResult(NOT_AUTHORIZED);
    const reason = reasonOf(answer!.deny_message);
    return errorResult(
      `The person did not authorize the server of this call, so it was not run. ${reason} Go on without it.`,
    );
  },
  onExpiry: 'close',
  takenBy: 'workflow',
};

const NOT_AUTHORIZED =
  'This call was not run: its server was not authorized in time by the user of the session. ' +
  'Go on without it, or make it again if it is still needed.';
