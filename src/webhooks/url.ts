import type { GuardedNetwork } from '../network/network.js';
import { ServiceError } from '../platform/errors.js';

/**
 * Checks a webhook's url by the rules of MCP servers: https, a public address, no user name or password.
 * @throws ServiceError `invalid_webhook_url`
 */
export async function checkWebhookUrl(network: GuardedNetwork, url: string): Promise<void> {
  try {
    await network.checkUrl(url);
  } catch (error) {
    if (error instanceof ServiceError && error.type === 'invalid_mcp_server_url') {
      throw new ServiceError('invalid_webhook_url', error.message);
    }
    throw error;
  }
}
