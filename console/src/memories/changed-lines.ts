export interface ChangedLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** More pairs of lines than this are not compared: all of the one go, and all of the other come. */
const MAX_PAIRS = 1_000_000;

/** What became of the lines of a text, as the longest common sequence of lines has it. */
export function changedLines(before: string, after: string): ChangedLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let [start, end] = [0, 0];
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  const most = Math.min(old.length, now.length) - start;
  while (end < most && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const line = (kind: ChangedLine['kind']) => (text: string) => ({ kind, text });
  return [
    ...old.slice(0, start).map(line('same')),
    ...between(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...old.slice(old.length - end).map(line('same')),
  ];
}

function between(old: string[], now: string[]): ChangedLine[] {
  const removed = (text: string): ChangedLine => ({ kind: 'removed', text });
  const added = (text: string): ChangedLine => ({ kind: 'added', text });
  if (old.length * now.length > MAX_PAIRS) return [...old.map(removed), ...now.map(added)];
  // longest[i][j]: how many lines `old` from i on and `now` from j on have in common, in their order.
  const longest = old.concat('').map(() => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = now.length - 1; j >= 0; j -= 1)
      longest[i]![j] =
        old[i] === now[j] ? longest[i + 1]![j + 1]! + 1 : Math.max(longest[i + 1]![j]!, longest[i]![j + 1]!);
  const lines: ChangedLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ kind: 'same', text: old[i]! });
      [i, j] = [i + 1, j + 1];
    } else if (j === now.length || (i < old.length && longest[i + 1]![j]! >= longest[i]![j + 1]!)) {
      lines.push(removed(old[i]!));
      i += 1;
    } else {
      lines.push(added(now[j]!));
      j += 1;
    }
  }
  return lines;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
