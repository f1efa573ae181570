import { ApiError, ConnectionError } from '../../../client/src/index.js';
import { CopyText } from './copy-text.js';

interface Listed {
  errors?: { path: string; message: string }[];
}

export function ErrorNote({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null;
  if (!(error instanceof ApiError)) {
    return (
      <div role="alert" class="note error">
        <p>
          {error instanceof ConnectionError
            ? 'The service does not answer. Try again in a moment.'
            : (error as Error).message}
        </p>
      </div>
    );
  }
  const { errors, ...others } = (error.details ?? {}) as Listed;
  return (
    <div role="alert" class="note error">
      <p>
        <strong>{error.type}</strong> {error.message}
      </p>
      {errors !== undefined && (
        <ul>
          {errors.map(({ path, message }) => (
            <li key={path + message}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {Object.keys(others).length > 0 && <p class="hint">{JSON.stringify(others)}</p>}
      {error.requestId !== null && (
        <p class="hint">
          Request <CopyText text={error.requestId} label="request id" />
        </p>
      )}
    </div>
  );
}
