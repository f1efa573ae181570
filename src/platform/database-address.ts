/** How connections log in: with the address' password, or as this process' Google account, with its token as password. */
export const DATABASE_AUTH = ['password', 'google_iam'] as const;
export type DatabaseAuth = (typeof DATABASE_AUTH)[number];

/** The parameter of an address that says how to log in. Postgres never gets it. */
const AUTH_PARAMETER = 'service_auth';

/** Puts the way to log in into the address, so that one value reaches every connection. */
export function databaseAddress(url: string, auth: DatabaseAuth): string {
  if (auth === 'password') return url;
  const address = new URL(url);
  address.searchParams.set(AUTH_PARAMETER, auth);
  return address.href;
}

/** Parameters of libpq that choose among several hosts. */
const HOST_CHOICE = ['target_session_attrs', 'load_balance_hosts'];

/** Why the address cannot be used, or not with this way to log in; none for an empty one. `name`: the setting that has it. */
export function addressProblems(name: string, url: string, auth: DatabaseAuth): string[] {
  if (!/^postgres(ql)?:/.test(url)) return [];
  const [, authority = '', query = ''] = /^[^:]+:\/\/([^/?#]*)[^?]*(?:\?(.*))?$/.exec(url) ?? [];
  const choice = HOST_CHOICE.find((parameter) => new URLSearchParams(query).has(parameter));
  if (choice !== undefined || authority.slice(authority.lastIndexOf('@') + 1).includes(',')) {
    const what = choice === undefined ? 'names several hosts' : `has ${choice}`;
    return [
      `${name} ${what}, and this service connects to one host: give it an address that always leads to the primary ` +
        '(docs/operations/machines.md, "An address of the primary")',
    ];
  }
  if (!URL.canParse(url)) {
    return [
      `${name} is not a valid address: write other characters than letters and digits of user and password as %XX`,
    ];
  }
  if (auth === 'password') return [];
  const { password, searchParams } = new URL(url);
  const problems: string[] = [];
  if (password !== '') {
    problems.push(`${name} has a password, and DATABASE_AUTH=google_iam logs in with tokens: remove one of them`);
  }
  const modes = searchParams.getAll('sslmode');
  if (modes.length !== 1 || modes[0] !== 'verify-full') {
    problems.push(
      `${name} needs sslmode=verify-full with DATABASE_AUTH=google_iam: whoever answers instead of the database would get ` +
        'the token of this process’ Google account (add ?sslmode=verify-full&sslrootcert=FILE; docs/operations/gcp.md)',
    );
  }
  return problems;
}

export function authOf(address: string): { url: string; auth: DatabaseAuth } {
  if (!address.includes(AUTH_PARAMETER)) return { url: address, auth: 'password' };
  const url = new URL(address);
  url.searchParams.delete(AUTH_PARAMETER);
  return { url: url.href, auth: 'google_iam' };
}
