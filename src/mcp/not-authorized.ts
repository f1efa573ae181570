/** The session's user has no credential for the server that calls may use (decisions.md "User credentials"). */
export class NotAuthorizedError extends Error {
  override readonly name = 'NotAuthorizedError';
  constructor() {
    super('the user of the session has not authorized it');
  }
}
