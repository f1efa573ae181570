/** Prints one line of figures. */
export function row(name: string, value: string, aim = ''): void {
  console.log(`${name.padEnd(52)} ${value.padEnd(36)} ${aim}`.trimEnd());
}

/** Rows in columns of equal width. */
export function tableOf(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((cells) => cells[column]!.length)));
  return rows.map((cells) => cells.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')).join('\n');
}

export type Figures = Record<string, number>;

/** A figure with its unit, and what it should be: a ratio to the baseline of the same run, or a limit for the side's own value. */
export type Row = [figure: string, unit: string, aim: { ratio?: string; own?: string }];

/** Prints each row for all sides, beside the first of them; rows that no side measured are left out. */
export function compare(rows: Row[], sides: Record<string, Figures>): void {
  const [[baselineName, baseline], ...others] = Object.entries(sides) as [[string, Figures], ...[string, Figures][]];
  const line = (...cells: string[]): void =>
    console.log(cells.map((cell, index) => (index === 0 ? cell.padEnd(42) : cell.padStart(11))).join(''));
  line('', baselineName, ...others.flatMap(([name]) => [name, 'ratio']), 'aim');
  for (const [name, unit, { ratio, own }] of rows) {
    if (baseline[name] === undefined) continue;
    const value = (figures: Figures): string =>
      figures[name] === undefined ? '' : `${figures[name].toFixed(1)} ${unit}`;
    const ratioOf = (figures: Figures): string =>
      figures[name] === undefined ? '' : `${(figures[name] / baseline[name]!).toFixed(2)} ×`;
    const aim = ratio === undefined ? (own ?? '') : `${ratio} ×`;
    line(name, value(baseline), ...others.flatMap(([, figures]) => [value(figures), ratioOf(figures)]), aim);
  }
}

/** The mean of each figure over all that were measured. */
export function meanOf(measured: Figures[]): Figures {
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const names = new Set(measured.flatMap((figures) => Object.keys(figures)));
  return Object.fromEntries([...names].map((name) => [name, mean(measured.flatMap((figures) => figures[name] ?? []))]));
}
