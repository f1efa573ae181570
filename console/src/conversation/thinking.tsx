import { Markdown } from '../markdown/markdown.js';

interface Props {
  content: string;
  streaming: boolean;
}

/** The model's reasoning, folded away. Its summary keeps one line's height while the text streams. */
export function Thinking({ content, streaming }: Props) {
  return (
    <details class="thinking">
      <summary>
        {streaming ? 'Thinking …' : 'Thinking'} <span class="preview">{content.slice(-160)}</span>
      </summary>
      <Markdown text={content} />
    </details>
  );
}
