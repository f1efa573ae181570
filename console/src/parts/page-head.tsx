import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { ErrorNote } from './error-note.js';

export function PageHead({ title, children }: { title: string; children?: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · Agent sessions`;
  }, [title]);
  return (
    <div class="page-head">
      <h1>{title}</h1>
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
