import type { NewSession, Session } from '../../../client/src/index.js';

/** The body that creates a session like this one. */
export function bodyLike(session: Session): NewSession {
  const { model_id, thinking_enabled, instruction, mcp_servers, metadata, tools, fallback_model_ids, budget, user } =
    session;
  return {
    model_id,
    thinking_enabled,
    ...(instruction !== null && { instruction }),
    ...(mcp_servers.length > 0 && { mcp_servers }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(tools.length > 0 && { tools }),
    ...(fallback_model_ids.length > 0 && { fallback_model_ids }),
    ...(budget !== null && { budget }),
    ...(user !== null && { user }),
  };
}
