"""A server with 2,000 tools, forms and its own authorization server, made with the MCP SDK for Python; the port is the first argument."""

import secrets
import sys
import time

from mcp.server.auth.provider import AccessToken, AuthorizationCode, OAuthAuthorizationServerProvider, RefreshToken
from mcp.server.auth.provider import construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.auth import OAuthToken
from pydantic import BaseModel

PORT = int(sys.argv[1])
BASE = f"http://127.0.0.1:{PORT}"


class Provider(OAuthAuthorizationServerProvider):
    """Lets everybody in."""

    def __init__(self):
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self._tokens(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        del self.refresh[refresh_token.token]
        return self._tokens(client, scopes, refresh_token.resource)

    async def load_access_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        self.access.pop(token.token, None)

    def _tokens(self, client, scopes, resource):
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        common = {"client_id": client.client_id, "scopes": scopes, "resource": resource}
        self.access[access] = AccessToken(token=access, expires_at=int(time.time()) + 3600, **common)
        self.refresh[refresh] = RefreshToken(token=refresh, **common)
        return OAuthToken(access_token=access, token_type="Bearer", expires_in=3600, refresh_token=refresh)


class City(BaseModel):
    city: str


server = MCPServer(
    "python-sdk",
    auth_server_provider=Provider(),
    auth=AuthSettings(
        issuer_url=BASE,
        resource_server_url=f"{BASE}/mcp",
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(enabled=True),
    ),
)


@server.tool()
async def ask(ctx: Context) -> str:
    """Asks for a city."""
    answer = await ctx.elicit("Where to?", City)
    return f"To {answer.data.city}" if answer.action == "accept" else answer.action


def add(number: int) -> None:
    @server.tool(name=f"tool_{number}", description=f"Does thing {number}.")
    def tool(id: str, limit: int = 10) -> str:
        return id


for index in range(1, 2000):
    add(index)

server.run(transport="streamable-http", host="127.0.0.1", port=PORT)
