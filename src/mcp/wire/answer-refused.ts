/** The server's answer exceeds a limit. The message is a clause about the server, as in `failureReason`. */
export class AnswerRefusedError extends Error {
  override readonly name = 'AnswerRefusedError';
}
