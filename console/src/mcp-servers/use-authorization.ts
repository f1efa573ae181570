import { useEffect, useState } from 'preact/hooks';
import type { McpServer } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { safeHref } from '../markdown/links.js';

const POLL_INTERVAL_MS = 2_000;

/** An authorization that a person must finish on a page of the authorization server. */
interface PendingAuthorization {
  /** Null when no authorization is under way, or its address is no link. */
  href: string | null;
  start: () => void;
  busy: boolean;
  error: unknown;
}

/** Starts the authorization of a server, and follows it until the service has listed the server's tools. */
export function useAuthorization(server: McpServer, onChanged: (server: McpServer) => void): PendingAuthorization {
  const client = useClient();
  const [url, setUrl] = useState<string | null>(null);
  const starting = useAction(async () => {
    const { auth } = await client.authorizeMcpServer(server.id);
    setUrl(auth.authorization_url ?? null);
  });

  useEffect(() => {
    if (url === null) return;
    const look = async (): Promise<void> => {
      const now = await client.getMcpServer(server.id);
      const isProbed = now.last_probed_at !== server.last_probed_at;
      if (isProbed) setUrl(null);
      if (isProbed || now.auth.status !== server.auth.status) onChanged(now);
    };
    // A look that fails is followed by the next one.
    const timer = setInterval(() => void look().catch(() => undefined), POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [url, server]);

  return {
    href: url === null ? null : safeHref(url),
    start: () => starting.run(),
    busy: starting.busy,
    error: starting.error,
  };
}
