import type { ComponentChildren } from 'preact';
import type { Action } from '../client/use-action.js';
import { ErrorNote } from './error-note.js';

interface Props {
  action: Action<[]>;
  /** On the button. */
  submit: string;
  incomplete?: boolean;
  /** Where a second button leads. */
  back?: string;
  children: ComponentChildren;
}

export function ActionForm({ action, submit, incomplete = false, back, children }: Props) {
  return (
    <form class="form" onSubmit={(event) => (event.preventDefault(), action.run())}>
      {children}
      <ErrorNote error={action.error} />
      <div class="actions">
        <button class="primary" disabled={action.busy || incomplete}>
          {submit}
        </button>
        {back !== undefined && (
          <a class="button quiet" href={back}>
            Back
          </a>
        )}
      </div>
    </form>
  );
}
