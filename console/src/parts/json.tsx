import { exactText } from '../../../src/platform/exact-json.js';
import { CodeBlock } from './code-block.js';

export function Json({ value, label }: { value: unknown; label: string }) {
  return <CodeBlock text={exactText(value, 2)} label={label} />;
}
