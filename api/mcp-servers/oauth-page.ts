/** Who is named on the page, so that a person sees what was authorized, and for whom. */
export interface Parties {
  project: string;
  server: string;
  host: string;
  issuer: string;
}

export interface CallbackPage {
  status: 200 | 422;
  title: string;
  text: string;
  /** Absent if the authorization is unknown. */
  parties: Parties | undefined;
}

/** A page of plain text without scripts, styles or content from the request. */
export function callbackPage({ status, title, text, parties }: CallbackPage): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeHtml(title)}</title>
  </head>
  <body>
    <h1>${escapeHtml(title)}</h1>
    <p>${escapeHtml(text)}</p>${parties === undefined ? '' : listOf(parties)}${status === 200 ? WARNING : ''}
  </body>
</html>
`;
}

function listOf({ project, server, host, issuer }: Parties): string {
  const rows = [
    ['Project', project],
    ['MCP server', `${server} (${host})`],
    ['Authorization server', issuer],
  ];
  const items = rows.map(([name, value]) => `      <dt>${name}</dt>\n      <dd>${escapeHtml(value!)}</dd>`);
  return `\n    <dl>\n${items.join('\n')}\n    </dl>`;
}

/** The service cannot know whether the person at this browser started the authorization (docs/mcp.md, OAuth). */
const WARNING = `
    <p>Did somebody else send you the link, or did you agree at another authorization server than this one? Then others
    can use your account. Remove the access of Agent Session Service in the settings of your account now.</p>`;

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
