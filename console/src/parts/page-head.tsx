import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { Icon } from './icon.js';
import { ErrorNote } from './error-note.js';

interface Props {
  title: string;
  /** The address of the list that the page belongs to. */
  back?: string;
  children?: ComponentChildren;
}

export function PageHead({ title, back, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Agent sessions`;
  }, [title]);
  return (
    <div class="page-head">
      {back !== undefined && (
        <a class="back" href={back} aria-label="Back to the list">
          <Icon name="next" />
        </a>
      )}
      <h1 class="clip" title={title}>
        {title}
      </h1>
      <div class="actions">{children}</div>
    </div>
  );
}

/** The page of something that is not read yet, or cannot be. */
export function UnreadPage({ title, error }: { title: string; error: unknown }) {
  return (
    <>
      <PageHead title={title} />
      <ErrorNote error={error} />
    </>
  );
}
