/** A figure over time, its values at equal distances. */
export interface Line {
  name: string;
  values: number[];
}

const WIDTH = 300;
const HEIGHT = 90;
const COLUMNS = 3;
const GAP = 24;
const HEAD = 34;

/** One picture (SVG) with a small chart for each line, from zero to its largest value. */
export function linesOver(lines: Line[], { minutes, title }: { minutes: number; title: string }): string {
  const rows = Math.ceil(lines.length / COLUMNS);
  const [width, height] = [COLUMNS * (WIDTH + GAP) + GAP, HEAD + rows * (HEIGHT + 2 * GAP)];
  const charts = lines.map((line, n) => {
    const x = GAP + (n % COLUMNS) * (WIDTH + GAP);
    const y = HEAD + Math.floor(n / COLUMNS) * (HEIGHT + 2 * GAP) + GAP;
    return `<g transform="translate(${x} ${y})">${chart(line)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${GAP}" y="20" font-size="14">${title}, ${minutes} minutes</text>`,
    ...charts,
    '</svg>\n',
  ].join('\n');
}

function chart({ name, values }: Line): string {
  const most = Math.max(...values, 0);
  const at = (value: number, n: number): string => {
    const x = (n / Math.max(1, values.length - 1)) * WIDTH;
    const y = HEIGHT - (most === 0 ? 0 : value / most) * HEIGHT;
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  };
  return [
    `<text y="-4">${name}: ${shown(values.at(-1) ?? 0)} (most ${shown(most)})</text>`,
    `<path d="M0,0V${HEIGHT}H${WIDTH}" fill="none" stroke="#bbb"/>`,
    `<polyline points="${values.map(at).join(' ')}" fill="none" stroke="#1f6feb" stroke-width="1.5"/>`,
  ].join('');
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1);
}
