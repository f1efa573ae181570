import { useEffect, useState } from 'preact/hooks';
import { Markdown } from '../markdown/markdown.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { GUIDES } from './guide-list.js';
import { loadGuide } from './guides.js';

/** A page of docs/. Links to other guides stay here; those to other pages of the repository are not served. */
export function GuideView({ name }: { name: string }) {
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const loading = loadGuide(name);
  useEffect(() => {
    loading?.then(setText, setError);
  }, [name]);
  if (loading === null) return <Empty title="There is no such guide">The guides are listed at the left.</Empty>;
  return (
    <article class="guide" onClick={stayHere}>
      <ErrorNote error={error} />
      {text !== null && <Markdown text={withLinks(text)} />}
    </article>
  );
}

const HERE = location.href.split('#')[0]!;

/** Markdown opens links in a tab of their own; those to other guides stay in this one. */
function stayHere(event: MouseEvent): void {
  const href = (event.target as Element).closest('a')?.href;
  if (href === undefined || !href.startsWith(`${HERE}#`) || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  location.href = href;
}

function withLinks(markdown: string): string {
  return markdown
    .replaceAll(/\]\(([\w-]+)\.md(?:#[\w-]*)?\)/g, (link, page: string) =>
      GUIDES.some(([name]) => name === page) ? `](${HERE}#/guides/${page})` : link,
    )
    .replaceAll(/!\[[^\]]*\]\([^)]*\)\n?/g, '');
}
