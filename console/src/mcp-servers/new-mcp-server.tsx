import { useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ActionForm } from '../parts/action-form.js';
import { TextField } from '../parts/fields.js';
import { PageHead } from '../parts/page-head.js';
import { navigate } from '../route.js';
import type { McpServer } from '../../../client/src/index.js';
import { CalledAsField } from './called-as.js';
import type { Auth } from './oauth-fields.js';
import { AuthFields } from './auth-fields.js';

export function NewMcpServer() {
  const client = useClient();
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [auth, setAuth] = useState<Auth>({ type: 'NONE' });
  const [credentials, setCredentials] = useState<McpServer['credentials']>('shared');
  const registering = useAction(async () => {
    const server = await client.registerMcpServer({ name, url, auth, credentials });
    navigate(`/mcp-servers/${server.id}`);
  });
  return (
    <>
      <PageHead title="Register an MCP server" back="#/mcp-servers" />
      <ActionForm
        action={registering}
        submit={registering.busy ? 'Connecting to the server …' : 'Register'}
        back="#/mcp-servers"
      >
        <TextField
          label="Name"
          hint={`The agent sees its tools as mcp__${name || 'name'}__tool`}
          required
          maxLength={64}
          pattern="[a-z0-9]+(-[a-z0-9]+)*"
          title="Lowercase letters, digits and single hyphens"
          value={name}
          onChange={setName}
        />
        <TextField
          label="Address"
          hint="Its Streamable HTTP endpoint. It must be https and public, or in MCP_ALLOWED_HOSTS."
          required
          type="url"
          placeholder="https://example.com/mcp"
          value={url}
          onChange={setUrl}
        />
        <AuthFields auth={auth} onChange={setAuth} />
        <CalledAsField value={credentials} onChange={setCredentials} />
      </ActionForm>
    </>
  );
}
