import { CopyText } from './copy-text.js';

interface Props {
  text: string;
  /** What it is: `JSON of the turn`. */
  label: string;
}

export function CodeBlock({ text, label }: Props) {
  return (
    <div class="code-box">
      <div class="code-head">
        <span>{label}</span>
        <CopyText text={text} label={label}>
          Copy
        </CopyText>
      </div>
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}
